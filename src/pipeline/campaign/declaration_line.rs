//! Where a mistake in a declaration is in the campaign file: the line that has the part between backticks in the
//! message, inside the table of its declaration.

use crate::catalogue::{Catalogue, Declaration};
use serde::{Deserialize, de::IgnoredAny};
use toml::Spanned;

#[derive(Deserialize)]
struct Tables {
    #[serde(default, rename = "declaration")]
    declarations: Vec<Spanned<IgnoredAny>>,
}

/// Validates the declarations of a campaign file.
///
/// # Errors
/// The first mistake, with its line.
pub(super) fn check_declarations(text: &str, declarations: &[Declaration]) -> Result<(), String> {
    for (place, declaration) in declarations.iter().enumerate() {
        if let Err(error) = Catalogue::check(declaration) {
            let message = error.to_string();
            let line = line_of(text, place, &declaration.name, &message);
            return Err(format!("line {line}: {message}"));
        }
    }
    Ok(())
}

fn line_of(text: &str, place: usize, name: &str, message: &str) -> usize {
    let tables: Option<Tables> = toml::from_str(text).ok();
    let starts: Vec<usize> = tables
        .map(|tables| tables.declarations.iter().map(|table| table.span().start.min(text.len())).collect())
        .unwrap_or_default();
    let from = starts.get(place).copied().unwrap_or_default();
    let until = starts.get(place + 1).copied().filter(|until| *until > from).unwrap_or(text.len());
    let own = text.get(from..until).unwrap_or_default();
    let fault = message.strip_prefix(&format!("declaration of check `{name}`: ")).unwrap_or(message);
    let at = place_of(own, fault);
    text[..from + at].matches('\n').count() + 1
}

/// Where the part that a message is about begins: the name between backticks before its colon, or the last word there,
/// as in `verdict.otherwise: …`; and after that the value that was found.
fn place_of(own: &str, fault: &str) -> usize {
    let part = fault.split(':').next().unwrap_or_default();
    let named = part.split('`').nth(1);
    let part = named.or_else(|| part.rsplit(['.', ' ']).next()).unwrap_or_default();
    let base = own.find(&format!("\"{part}\"")).or_else(|| own.find(part)).unwrap_or_default();
    let found = fault.split_once("found `").and_then(|(_, rest)| rest.split('`').next());
    found.and_then(|found| own[base..].find(found)).map_or(base, |after| base + after)
}
