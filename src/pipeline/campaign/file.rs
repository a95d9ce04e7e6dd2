//! The campaign file: TOML as the user writes it, and nothing decided yet. Command-line flags are folded into the same
//! structure, so that there is one way from words to a campaign. No secret is ever in it, only where one is found.

use super::secret::SECRET_EXPECTED;
pub use super::secret::SecretSource;
use super::tables::TableSource;
use crate::{
    catalogue::{Declaration, Spelling},
    client::Auth,
    mapping::FieldSource,
    model::{Credits, Mode, nearest::hint, printable::printable},
    sink::OutputFormat,
    source::{Encoding, Format},
};
use serde::Deserialize;
use std::{collections::BTreeMap, path::PathBuf};

/// Characters of the TOML reader's message, and of a key, that are repeated.
const MESSAGE_CHARACTERS_MAX: usize = 500;
const KEY_CHARACTERS_MAX: usize = 80;

/// `rescreen.toml`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CampaignFile {
    pub campaign: Option<String>,
    pub mode: Mode,
    pub service: ServiceTable,
    pub input: InputTable,
    pub budget: BudgetTable,
    #[serde(rename = "check")]
    pub checks: Vec<CheckTable>,
    pub output: OutputTable,
    pub keys: KeysTable,
    pub ledger: LedgerTable,
    pub guards: GuardsTable,
    /// For the filter `table("name")`: entries, or the path of a file with them.
    pub tables: BTreeMap<String, TableSource>,
    /// Whole declarations of checks: new ones, or instead of those of the same name.
    #[serde(rename = "declaration")]
    pub declarations: Vec<Declaration>,
    /// The service is the built-in simulator. Set by `--simulate`, never by the file.
    #[serde(skip)]
    pub simulate: bool,
    /// No program that the file names is started. Set by `plan` and `--simulate`, never by the file.
    #[serde(skip)]
    pub starts_nothing: bool,
    /// Rows read of each source at most. Set by `--limit`, never by the file.
    #[serde(skip)]
    pub limit_rows: Option<u64>,
    /// Set by `--expect-rows`.
    #[serde(skip)]
    pub expect_rows: Option<(u64, u64)>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceTable {
    pub url: Option<String>,
    pub api_key: Option<SecretSource>,
    pub auth: Auth,
    pub routes: Spelling,
    pub per_minute: u32,
    pub per_minute_max: u32,
    /// Requests under way at once.
    pub in_flight: usize,
    pub proxy: Option<String>,
    /// Where `USER:PASSWORD` of the proxy is found.
    pub proxy_auth: Option<SecretSource>,
    pub ca_file: Option<PathBuf>,
    /// JSON pointer to the balance in the answer of `GET /my_credits`.
    pub balance_pointer: Option<String>,
    /// JSON pointer to the charge that a reply states, in place of the known ones; empty reads none, and the balance proves.
    pub charge_pointer: Option<String>,
    /// JSON pointer to the balance that a reply states, in place of the known ones; empty reads none.
    pub remaining_pointer: Option<String>,
}

impl Default for ServiceTable {
    fn default() -> ServiceTable {
        ServiceTable {
            url: None,
            api_key: None,
            auth: Auth::default(),
            routes: Spelling::default(),
            per_minute: 60,
            per_minute_max: 120,
            in_flight: 64,
            proxy: None,
            proxy_auth: None,
            ca_file: None,
            balance_pointer: None,
            charge_pointer: None,
            remaining_pointer: None,
        }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InputTable {
    /// Relative to the campaign file; `-` is standard input.
    pub paths: Vec<PathBuf>,
    /// The column that fills `subject`.
    pub id: Option<String>,
    /// The texts that stand for null. Blanks around them, or around a value, do not count.
    pub null: Option<Vec<String>>,
    /// The same for single columns, in place of `null`.
    pub null_in: BTreeMap<String, Vec<String>>,
    pub format: Option<Format>,
    pub delimiter: Option<char>,
    /// How text is written, where it is neither UTF-8 nor UTF-16 with its mark.
    pub encoding: Option<Encoding>,
    /// `false`: the first line is a row.
    pub header: Option<bool>,
    /// The names of the columns where there is no header.
    pub columns: Option<Vec<String>>,
    /// The sheet of a spreadsheet.
    pub sheet: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetTable {
    pub max_credits: Option<Credits>,
    pub keep_balance: Credits,
    pub prices: BTreeMap<String, Credits>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckTable {
    #[serde(rename = "use")]
    pub check: String,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub when: Option<String>,
    #[serde(default)]
    pub fields: BTreeMap<String, FieldSource>,
    /// What rows expect of the answer: compared here, free, and not in the key.
    #[serde(default)]
    pub expect: BTreeMap<String, FieldSource>,
}

impl CheckTable {
    /// A check under its own name, on every row, its fields matched with columns by name.
    pub fn of(check: &str) -> CheckTable {
        let (fields, expect) = Default::default();
        CheckTable { check: check.to_owned(), name: None, when: None, fields, expect }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutputTable {
    pub dir: Option<PathBuf>,
    pub format: Option<OutputFormat>,
    pub carry: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KeysTable {
    pub secret: Option<SecretSource>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LedgerTable {
    pub path: Option<PathBuf>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GuardsTable {
    pub max_errors: Option<Share>,
    pub max_unrecognised: Option<Share>,
    pub accept_failures: Option<Share>,
}

/// A number, or a share of a whole: `20` or `"2.5%"`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub enum Share {
    Count(u64),
    Percent(f64),
}

impl Share {
    /// Whether `part` of `whole` is more than this allows.
    pub fn is_exceeded(self, part: u64, whole: u64) -> bool {
        match self {
            Share::Count(most) => part > most,
            Share::Percent(percent) => part as f64 > whole as f64 * percent / 100.0,
        }
    }
}

impl std::str::FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let expected = || format!("expected a number like `20` or a share like `2.5%`, found `{text}`");
        match text.strip_suffix('%') {
            Some(percent) => match percent.trim().parse() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Share::Percent(percent)),
                _ => Err(expected()),
            },
            None => text.parse().map(Share::Count).map_err(|_| expected()),
        }
    }
}

impl TryFrom<toml::Value> for Share {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Share, String> {
        match value {
            toml::Value::String(text) => text.parse(),
            other => other.to_string().parse(),
        }
    }
}

/// Reads a campaign file's text. An error names the line and, for an unknown key, the nearest right one. Of the line it
/// repeats the key and never the value: what stands there may be a secret, under whatever name.
///
/// # Errors
/// What is wrong with it, in the TOML reader's words.
pub fn parse(text: &str) -> Result<CampaignFile, String> {
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let number = text[..at].matches('\n').count() + 1;
        let line = text.lines().nth(number - 1).unwrap_or_default();
        let message = error.message();
        if message == SECRET_EXPECTED || ["api_key", "secret"].iter().any(|word| line.contains(word)) {
            return format!("line {number}: {SECRET_EXPECTED}");
        }
        let hint = unknown_key(message).map(|(key, known)| hint(key, known)).unwrap_or_default();
        let begun = text[..at].matches("\"\"\"").count() % 2 == 1 || text[..at].matches("'''").count() % 2 == 1;
        let shown = if begun { String::new() } else { key_of(line) };
        format!("line {number}: {}{hint}{shown}", cut(&without_value(message), MESSAGE_CHARACTERS_MAX))
    })
}

/// A message of the TOML reader without the value it repeats.
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

/// The key of a line on a line of its own, or nothing where there is none.
fn key_of(line: &str) -> String {
    let line = line.trim();
    if !line.contains('=') && !line.starts_with('[') {
        // A line of a longer value.
        return String::new();
    }
    let key = line.split(['=', '"', '\'']).next().unwrap_or_default();
    let rest = if key.len() < line.len() { "= …" } else { "" };
    if key.is_empty() { String::new() } else { format!("\n  {}{rest}", cut(key, KEY_CHARACTERS_MAX)) }
}

/// A text that is safe to print, and not endless.
fn cut(text: &str, characters_max: usize) -> String {
    let text = printable(text);
    let is_longer = text.chars().count() > characters_max;
    text.chars().take(characters_max).chain(is_longer.then_some('…')).collect()
}

/// The key and the known ones in serde's "unknown field" message.
fn unknown_key(message: &str) -> Option<(&str, Vec<&str>)> {
    let rest = &message[message.find("unknown field `")?..];
    let mut quoted = rest.split('`').skip(1).step_by(2);
    Some((quoted.next()?, quoted.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_message_is_bounded_and_safe_for_a_terminal() {
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
    fn a_share_is_a_number_or_a_percentage() {
        assert!("25%".parse::<Share>().unwrap().is_exceeded(26, 100));
        assert!(!"25%".parse::<Share>().unwrap().is_exceeded(25, 100));
        assert!("3".parse::<Share>().unwrap().is_exceeded(4, 1_000_000));
        assert!("101%".parse::<Share>().is_err() && "few".parse::<Share>().is_err());
    }
}
