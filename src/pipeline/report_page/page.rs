//! The page as HTML: one file, which has no script and loads nothing. Its policy allows only its own style, identified
//! by a digest, so that text that was not escaped could not run or load anything.

use super::{
    block::{Section, outside},
    figures::Figures,
};
use crate::error::Error;
use base64::{Engine, prelude::BASE64_STANDARD};
use minijinja::{Environment, UndefinedBehavior, context};
use sha2::{Digest, Sha256};

/// How every page begins. A file that begins with other words was not made by rescreen.
pub const BEGINS: &str = "<!DOCTYPE html>\n<!-- rescreen report -->\n";

/// Its name decides how text is escaped.
const NAME: &str = "page.html";
const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// Stands at the top of every printed page if the answers are invented.
const PRINTED_WARNING: &str = "@media print { @page { @top-center { content: \"THESE ANSWERS ARE INVENTED: no real \
                               verifications\"; font: bold 9pt sans-serif; } } }\n";

/// What the page is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    Report,
    /// It explains a folder of evidence.
    Evidence,
}

impl PageKind {
    fn as_str(self) -> &'static str {
        match self {
            PageKind::Report => "Report",
            PageKind::Evidence => "Evidence",
        }
    }
}

/// Makes the page. Only `made_at` is not from the ledger or the manifest.
///
/// # Errors
/// The template is wrong.
pub fn page(figures: &Figures, kind: PageKind, sections: &[Section], made_at: &str) -> Result<String, Error> {
    let invented_by = figures.mode.invented_by();
    let style = if invented_by.is_some() { format!("{STYLE}{PRINTED_WARNING}") } else { STYLE.to_owned() };
    let identity = &figures.status.identity;
    rendered(context! {
        policy => policy(&style),
        style,
        kind => kind.as_str(),
        program => env!("CARGO_PKG_VERSION"),
        campaign => outside(&identity.campaign),
        mode => figures.mode.as_str(),
        origin => outside(&identity.origin),
        invented_by,
        made_at,
        sections,
    })
}

fn rendered(context: minijinja::Value) -> Result<String, Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_keep_trailing_newline(true);
    let failed = |error: minijinja::Error| Error::Internal(format!("the page of the report: {error:#}"));
    environment.add_template(NAME, TEMPLATE).map_err(failed)?;
    let template = environment.get_template(NAME).map_err(failed)?;
    template.render(context).map_err(failed)
}

fn policy(style: &str) -> String {
    let digest = BASE64_STANDARD.encode(Sha256::digest(style));
    format!("default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
