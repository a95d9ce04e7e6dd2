//! Reads and writes the text of a campaign file. Its messages name the line and the most similar key, and never repeat a
//! value.

use super::{declaration_line::check_declarations, file::CampaignFile, secret::SECRET_EXPECTED};
use crate::{
    catalogue::Catalogue,
    error::Error,
    files::{self, Links},
    mapping::FieldSource,
    model::{nearest::hint, printable::printable},
};
use std::path::Path;
use toml::Value;

// How many characters of the TOML parser's message, and of a key, an error quotes.
const MESSAGE_CHARACTERS_MAX: usize = 500;
const KEY_CHARACTERS_MAX: usize = 80;

/// Parses the text of a campaign file. An error names the line and, for an unknown key, the most similar known key. It
/// quotes the key of the line and never the value: the value may be a secret under a mistyped key.
///
/// # Errors
/// The message of the TOML parser.
pub fn parse(text: &str) -> Result<CampaignFile, String> {
    let file = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let number = text[..at].matches('\n').count() + 1;
        let line = text.lines().nth(number - 1).unwrap_or_default();
        let message = error.message();
        if message == SECRET_EXPECTED || ["api_key", "secret"].iter().any(|word| line.contains(word)) {
            return format!("line {number}: {SECRET_EXPECTED}");
        }
        let hint = unknown_key(message).map(|(key, known)| hint(key, known)).unwrap_or_default();
        let is_in_multiline =
            text[..at].matches("\"\"\"").count() % 2 == 1 || text[..at].matches("'''").count() % 2 == 1;
        let shown = if is_in_multiline { String::new() } else { key_of(line) };
        let message = plain(&without_value(message).replace("unknown field `", "unknown key `"));
        format!("line {number}: {}{hint}{shown}", cut(&message, MESSAGE_CHARACTERS_MAX))
    });
    let file: CampaignFile = file?;
    check_declarations(text, &file.declarations)?;
    Ok(file)
}

/// The text of a campaign file with everything that flags can set, without what is the default. Where secrets are, no
/// flag says, so the text does not either.
///
/// # Errors
/// A value that TOML cannot contain, such as a path that is not UTF-8.
pub fn text(file: &CampaignFile) -> Result<String, String> {
    let of = |file| toml::Table::try_from(file).map_err(|error| error.to_string());
    let mut file = file.clone();
    file.input.header = file.input.has_header();
    let mut table = of(&file)?;
    // The ledger records the rest of this table, and the URL apart.
    if let (Some(url), Some(Value::Table(service))) = (&file.service.url, table.get_mut("service")) {
        service.insert("url".to_owned(), Value::String(url.clone()));
    }
    let defaults = of(&CampaignFile::default())?;
    leave_out(&mut table, &defaults);
    toml::to_string(&table).map_err(|error| error.to_string())
}

/// The text of a campaign file as the ledger records it. What fills a secret field may be the secret itself, a constant or text in a
/// template, so only columns are recorded. `None` if TOML cannot contain a value, such as a path that is not UTF-8.
pub fn used(file: &CampaignFile, catalogue: &Catalogue) -> Option<String> {
    let mut file = file.clone();
    for table in &mut file.checks {
        let declaration = catalogue.get(&table.check).ok()?;
        for field in declaration.fields.iter().filter(|field| field.secret) {
            if let Some(source) = table.fields.get_mut(&field.name)
                && !matches!(source, FieldSource::Column(_))
            {
                *source = FieldSource::Constant("(not recorded)".into());
            }
        }
    }
    text(&file).ok()
}

/// Removes what is equal to the default, and what is empty.
fn leave_out(table: &mut toml::Table, defaults: &toml::Table) {
    table.retain(|key, value| {
        let default = defaults.get(key);
        match value {
            Value::Table(inner) => {
                leave_out(inner, default.and_then(Value::as_table).unwrap_or(&toml::Table::new()));
                !inner.is_empty()
            }
            Value::Array(all) => {
                all.iter_mut().filter_map(Value::as_table_mut).for_each(|one| leave_out(one, &toml::Table::new()));
                !all.is_empty()
            }
            _ => Some(&*value) != default,
        }
    });
}

/// A message of the TOML parser without the value that it quotes.
fn without_value(message: &str) -> String {
    const VALUES: [(&str, &str); 3] =
        [("unknown variant `", "`, expected"), ("string \"", "\", expected"), ("found `", "`")];
    let place = VALUES.iter().find_map(|(before, after)| {
        let from = message.find(before)? + before.len();
        let until = from + message[from..].rfind(after)?;
        Some((from, until))
    });
    place.map_or_else(|| message.to_owned(), |(from, until)| format!("{}…{}", &message[..from], &message[until..]))
}

/// A message of the TOML parser without the names of types and variants, which are words of programmers.
fn plain(message: &str) -> String {
    if let Some(expected) = message.strip_prefix("unknown variant `…`, ") {
        return format!("{expected}, found another value");
    }
    let number = ["u8", "u16", "u32", "u64", "usize", "i64"].iter().find_map(|name| {
        let name = format!("expected {name}");
        message.strip_suffix(&name)
    });
    number.map_or_else(|| message.to_owned(), |before| format!("{before}expected a whole number"))
}

/// The key of a line, on a new line; empty if the line has no key.
fn key_of(line: &str) -> String {
    let line = line.trim();
    if !line.contains('=') && !line.starts_with('[') {
        // The line continues a multi-line value.
        return String::new();
    }
    let key = line.split(['=', '"', '\'']).next().unwrap_or_default();
    let rest = if key.len() < line.len() { "= …" } else { "" };
    if key.is_empty() { String::new() } else { format!("\n  {}{rest}", cut(key, KEY_CHARACTERS_MAX)) }
}

/// A text made safe to print and cut to a maximum length.
fn cut(text: &str, characters_max: usize) -> String {
    let text = printable(text);
    let is_longer = text.chars().count() > characters_max;
    text.chars().take(characters_max).chain(is_longer.then_some('…')).collect()
}

/// The unknown key and the known keys in serde's "unknown field" message.
fn unknown_key(message: &str) -> Option<(&str, Vec<&str>)> {
    let rest = &message[message.find("unknown field `")?..];
    let mut quoted = rest.split('`').skip(1).step_by(2);
    Some((quoted.next()?, quoted.collect()))
}

// Enough for a campaign file that contains tables; larger tables belong in separate files.
const CAMPAIGN_FILE_BYTES_MAX: u64 = 4 << 20;

/// Reads and parses a campaign file.
pub fn read_file(path: &Path) -> Result<CampaignFile, Error> {
    let fault = |fault: String| Error::CampaignFile { path: path.to_owned(), fault };
    let file = files::open(path, Links::Followed).map_err(|error| fault(error.to_string()))?;
    read_open_file(path, file)
}

/// Reads and parses an open campaign file; `path` is its name in messages.
///
/// # Errors
/// The file is too large, not text, or not a campaign file.
pub fn read_open_file(path: &Path, file: std::fs::File) -> Result<CampaignFile, Error> {
    let fault = |fault: String| Error::CampaignFile { path: path.to_owned(), fault };
    let text = files::read_open(file, CAMPAIGN_FILE_BYTES_MAX).and_then(files::text);
    let file = parse(&text.map_err(|error| fault(error.to_string()))?).map_err(fault)?;
    Ok(CampaignFile { path: Some(path.to_owned()), ..file })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::Credits, pipeline::campaign::secret::SecretSource};

    #[test]
    fn what_is_recorded_of_a_campaign_file_has_no_secret() {
        let recorded = |password: &str| {
            let text = format!(
                "campaign = \"2026-11\"\n[service]\napi_key = {{ env = \"KEY\" }}\n[[check]]\nuse = \"proof-of-address\"\n\
                 fields.document_password = {password}\nfields.expected_country = {{ value = \"za\" }}\n"
            );
            used(&parse(&text).unwrap(), &Catalogue::built_in()).unwrap()
        };
        for password in ["{ value = \"hunter1\" }", "\"{{ 'hunter2' }}\"", "\"{{ pin | default('hunter3') }}\""] {
            let text = recorded(password);
            assert!(text.contains("za") && text.contains("(not recorded)"), "{text}");
            assert!(!text.contains("hunter") && !text.contains("KEY"), "{text}");
        }
        assert!(recorded("\"Pin\"").contains("document_password = \"Pin\""));
    }

    #[test]
    fn an_unknown_key_names_its_line_and_the_nearest_valid_one() {
        let message = parse("[budget]\nmax_credit = 5\n").unwrap_err();
        assert!(message.contains("line 2") && message.contains("did you mean `max_credits`?"), "{message}");
    }

    #[test]
    fn a_secret_in_the_file_is_refused_and_not_repeated() {
        for text in [
            "[service]\napi_key = \"sk_live_1\"\n",
            "[keys]\nsecret = \"sk_live_1\"\n",
            "[service]\n\"api\\u005fkey\" = \"sk_live_1\"\n",
            "[service]\napikey = \"sk_live_1\"\n",
            "[service.api_key]\nvalue = \"sk_live_1\"\n",
            "[service]\napi_key = { value = \"sk_live_1\" }\n",
            "service.api_key = \"\"\"\nsk_live_1\u{1}\"\"\"\n",
            "[service]\nauth = \"sk_live_1\"\n",
            "[service]\nper_minute = \"sk_live_1\"\n",
            "[guards]\nmax_errors = \"sk_live_1\"\n",
            "[input]\npaths = [\n  sk_live_1,\n]\n",
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains("line ") && !message.contains("sk_live"), "{text}: {message}");
        }
    }

    #[test]
    fn a_wrong_type_is_named_in_plain_words() {
        let of = |text: &str| parse(text).unwrap_err();
        assert!(of("[service]\nper_minute = \"x\"\n").contains("expected a whole number"));
        assert!(of("[service]\nin_flight = 1.5\n").contains("expected a whole number"));
        let message = of("[output]\nformat = \"xml\"\n");
        assert!(message.contains("expected `parquet` or `jsonl`, found another value"), "{message}");
    }

    #[test]
    fn a_message_has_a_maximum_length_and_is_safe_for_a_terminal() {
        for text in [format!("mode = \"{}\\u001b[2J\"", "x".repeat(10_000)), format!("{} \u{1b}", "x".repeat(10_000))] {
            let message = parse(&text).unwrap_err();
            assert!(message.chars().count() < 700 && !message.contains('\u{1b}'), "{message}");
        }
    }

    #[test]
    fn the_documented_campaign_file_is_read() {
        let text = r#"
            campaign = "2026-11"
            mode = "sandbox"
            [service]
            url = "http://127.0.0.1:8787"
            api_key = { env = "RESCREEN_API_KEY" }
            auth = "x-api-key"
            routes = "guide"
            per_minute = 60
            per_minute_max = 120
            [input]
            paths = ["customers.csv"]
            id = "customer_no"
            null = ["", "NULL"]
            [input.null_in]
            surname = [""]
            [budget]
            max_credits = 5000
            keep_balance = 500
            prices = { aml-screening = 2 }
            [[check]]
            use = "aml-screening"
            when = "status == 'active'"
            fields.name = "{{ first_name }} {{ surname }}"
            fields.entity = { value = 0 }
            [output]
            format = "parquet"
            carry = ["customer_no", "branch"]
            [tables.nationality]
            American = "us"
        "#;
        let file = parse(text).unwrap();
        assert_eq!(file.budget.max_credits, Some(Credits(5000)));
        assert_eq!(file.service.api_key, Some(SecretSource::Env("RESCREEN_API_KEY".into())));
        assert_eq!(file.checks[0].fields.len(), 2);
    }

    #[test]
    fn the_text_of_a_campaign_file_has_what_is_set_and_nothing_else() {
        assert_eq!(text(&CampaignFile::default()).unwrap(), "");
        let given = "mode = \"production\"\n\n[[check]]\nuse = \"aml-screening\"\n\n[check.fields]\nentity = { value = 0 }\n\n\
                     [guards]\nmax_errors = 7\n\n[service]\nper_minute = 31\nurl = \"https://a\"\n";
        let written = text(&parse(given).unwrap()).unwrap();
        assert_eq!(text(&parse(&written).unwrap()).unwrap(), written);
        for setting in
            ["mode = \"production\"", "value = 0", "max_errors = 7", "per_minute = 31", "url = \"https://a\""]
        {
            assert!(written.contains(setting), "{setting}:\n{written}");
        }
        assert!(!written.contains("auth") && !written.contains("routes"), "{written}");
    }
}
