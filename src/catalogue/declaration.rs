//! The declaration of a check: everything the project knows about one product of the service, as data. Mapping, client,
//! sink, simulator and `rescreen checks` all read it. A campaign file can contain declarations in the same format.

use super::{
    cached_failure::CachedFailureSpec,
    field_rule::FieldRule,
    job::JobSpec,
    limits::{Choices, Digits},
};
use crate::model::{
    Credits, Verdict,
    field::{FieldKind, LetterCase},
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// A check, as its TOML file declares it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// The name users write: lower case, words joined by `-`.
    pub name: String,
    pub summary: String,
    /// What the check is about. `rescreen checks` groups by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    pub flow: Flow,
    /// How long the service keeps a key, in hours. The service's API description, Limits: 72 h; adverse media 48 h.
    #[serde(default = "default_key_life_hours")]
    pub key_life_hours: u32,
    /// The price in credits, if the service's description states one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Credits>,
    pub routes: Routes,
    /// How the service answers later, if the flow is `job`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobSpec>,
    /// How a reply says that the request under its key has failed before, if the service keeps failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_failure: Option<CachedFailureSpec>,
    /// The field that confirms the consent of the person. One value for every row needs evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<String>,
    /// The most requests of this check in an hour, if the service limits them beside the account's rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_hour: Option<u32>,
    /// The most requests of this check in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u32>,
    /// Fields with a constant value that every request carries. They are not part of the key.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fixed: Map<String, Value>,
    #[serde(rename = "field")]
    pub fields: Vec<FieldSpec>,
    /// Rules between fields.
    #[serde(default, rename = "rule", skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<FieldRule>,
    pub answer: AnswerSpec,
    pub verdict: VerdictSpec,
    /// The parts that the service's description does not show: `flow`, `key_life_hours`, `routes.guide`,
    /// `routes.alternate`, `cached_failure`, `fixed.NAME`, `rules`, `answer.payload`, `answer.compared`, `answer.volatile`,
    /// `answer.matches`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed_parts: Vec<String>,
    /// Where the assumed parts come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// What a check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    Person,
    Company,
    Bank,
    Document,
    Vehicle,
    Property,
}

impl Subject {
    /// The name used in declarations.
    pub fn as_str(self) -> &'static str {
        match self {
            Subject::Person => "person",
            Subject::Company => "company",
            Subject::Bank => "bank",
            Subject::Document => "document",
            Subject::Vehicle => "vehicle",
            Subject::Property => "property",
        }
    }
}

fn default_key_life_hours() -> u32 {
    72
}

/// The paths of a check. The description states two spellings for some checks and does not say which one a service
/// accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routes {
    pub guide: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternate: Option<String>,
}

/// Which spelling of the paths to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spelling {
    #[default]
    Guide,
    Alternate,
}

impl Routes {
    /// The path in this spelling; the guide's if there is no alternate.
    pub fn path(&self, spelling: Spelling) -> &str {
        match (spelling, &self.alternate) {
            (Spelling::Alternate, Some(alternate)) => alternate,
            _ => &self.guide,
        }
    }

    /// The path in each of its spellings.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.guide.as_str()).chain(self.alternate.as_deref())
    }
}

impl Declaration {
    /// Whether a request of this check may contain a file.
    pub fn has_files(&self) -> bool {
        self.fields.iter().any(|field| field.kind.file().is_some())
    }

    /// The result columns that `expect` can compare with a row.
    pub fn expectations(&self) -> impl Iterator<Item = (&ColumnSpec, &ExpectSpec)> {
        self.answer.columns.iter().filter_map(|column| Some((column, column.expect.as_ref()?)))
    }
}

/// How a check's requests are answered. Declarations only name a flow; its behaviour is code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flow {
    /// A POST is answered at once.
    Direct,
    /// A POST is answered at once, or a 202 says `pending` and the request is repeated with the same key until it is
    /// answered.
    Replay,
    /// A POST is answered at once, or a 202 names a job, which is answered later.
    Job,
    /// Like [`Flow::Direct`], but a large document is uploaded first, and the POST names the upload by its reference.
    Upload,
}

/// One field of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldSpec {
    pub name: String,
    pub kind: FieldKind,
    #[serde(default)]
    pub required: bool,
    /// The value that is sent if nothing is mapped to the field. It is not part of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The values that the service accepts; empty means any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Value>,
    /// The texts that the service accepts, in its spelling: a list, or the name of a built-in list. Case, spaces and
    /// punctuation of the row's value are ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Choices>,
    /// Words that a row may use instead of a value, such as `person` for 0. Compared like `choices`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub names: Map<String, Value>,
    #[serde(default)]
    pub letter_case: LetterCase,
    /// The maximum length in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_max: Option<usize>,
    /// The number of digits, for the kind `digits`: `6`, or `{ min = 7, max = 13 }`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<Digits>,
    /// Names of columns that this field is read from if the campaign maps nothing to it. Case, spaces, `_` and `-` are
    /// ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub synonyms: Vec<String>,
    #[serde(default)]
    pub doc: String,
    /// The service's description does not show this field.
    #[serde(default)]
    pub assumed: bool,
    /// The parts of a shown field that the description does not show: `required`, `kind`, `allowed`, `choices`, `digits`,
    /// `length_max`, `letter_case`, `default`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed_parts: Vec<String>,
    /// Where the assumed parts come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The value is a secret, such as a password. Outputs never show it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
}

/// Where an answer's content is, and which parts of it become typed columns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerSpec {
    /// JSON pointers to the payload, which columns and rules read. The first that is present is used. Both envelopes
    /// are listed.
    pub payload: Vec<String>,
    #[serde(default, rename = "column", skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnSpec>,
    /// The parts of the payload that make two answers of a subject equal or different: JSON pointers, of which the first
    /// that is present is used. Without any, the whole payload is compared.
    #[serde(default, deserialize_with = "pointers", skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<String>,
    /// The places of the payload that differ between two equal answers, such as request ids, times and versions of
    /// lists: JSON pointers, with `*` for every item of a list. They are not compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volatile: Vec<String>,
    /// The matches about which a person can decide, if the check has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<MatchesSpec>,
    /// Further places of images, such as portraits. Outputs never contain the image itself.
    #[serde(default, rename = "image", skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageSpec>,
}

/// Reads one JSON pointer or a list of them.
fn pointers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a JSON pointer, or a list of JSON pointers")]
    enum OneOrMore {
        One(String),
        More(Vec<String>),
    }
    Ok(match OneOrMore::deserialize(deserializer)? {
        OneOrMore::One(pointer) => vec![pointer],
        OneOrMore::More(pointers) => pointers,
    })
}

/// Where the matches of an answer are. Which verdicts come from them alone, the rules say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchesSpec {
    /// JSON pointers into the payload to lists of matches. All of them are read.
    pub lists: Vec<String>,
    /// The lists that an answer must have to show all its matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// JSON pointers into a match to what identifies it, of which the first that is present is used. A match without it is
    /// identified by its digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub id: Vec<String>,
    /// JSON pointers into the payload to the number of all matches, of which the first that is present is used. An answer that
    /// lists another number does not show all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub total: Vec<String>,
    /// JSON pointers into the payload to what says that there are more matches: `true`, a text or a number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<String>,
    /// The columns of a match in a worklist. Their pointers are pointers into the match.
    #[serde(default, rename = "column", skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnSpec>,
}

/// A place of an answer that may hold an image, as base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageSpec {
    /// JSON pointer into the payload. Every text at or below this place is an image.
    pub pointer: String,
}

/// One typed column of the results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    pub name: String,
    /// JSON pointers into the payload. The first that is present is used.
    pub pointers: Vec<String>,
    #[serde(rename = "type")]
    pub kind: ColumnKind,
    #[serde(default)]
    pub assumed: bool,
    /// The column holds an image as base64. Its cell says how large the image is, and its digest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub image: bool,
    /// Present if `expect` can compare this column with a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<ExpectSpec>,
}

/// The type of a result column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    Text,
    Integer,
    Number,
    Boolean,
    /// `YYYY-MM-DD`, also with a time after it.
    Date,
    /// A time by ISO 8601. Without an offset it is UTC.
    Timestamp,
    /// The length of a list, or an integer, unchanged.
    Count,
    /// A part of the answer as JSON text.
    Json,
}

impl ColumnKind {
    /// The word in a declaration.
    pub fn as_str(self) -> &'static str {
        match self {
            ColumnKind::Text => "text",
            ColumnKind::Integer => "integer",
            ColumnKind::Number => "number",
            ColumnKind::Boolean => "boolean",
            ColumnKind::Date => "date",
            ColumnKind::Timestamp => "timestamp",
            ColumnKind::Count => "count",
            ColumnKind::Json => "json",
        }
    }
}

/// How an answer becomes a verdict: MiniJinja expressions over `payload` (see [`AnswerSpec`]), `answer` (all of it),
/// `sent` (the body of the request) and `answered_on` (the day of the answer in UTC, as `YYYY-MM-DD`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictSpec {
    /// Whether the rules apply to this answer. If not, the verdict is `unrecognised`.
    pub recognised: String,
    /// The first rule that holds gives the verdict and the finding.
    #[serde(default, rename = "rule")]
    pub rules: Vec<VerdictRule>,
    /// Verdict and finding if no rule holds. Never `clear`.
    pub otherwise: Finding,
    /// The service's description shows none of the values that the rules use.
    #[serde(default)]
    pub assumed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictRule {
    pub when: String,
    pub verdict: Verdict,
    pub finding: String,
    /// The rule reads nothing but the matches of the answer. A person can accept them (see [`MatchesSpec`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_matches: bool,
    /// The service's description does not show a value that this rule uses.
    #[serde(default)]
    pub assumed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    pub verdict: Verdict,
    pub finding: String,
}

/// How `expect.NAME` of a campaign compares a result column with a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectSpec {
    /// The NAME in `expect.NAME`.
    pub name: String,
    /// How texts are compared. Any other type is compared by value.
    #[serde(default)]
    pub compare: Compare,
}

/// When two texts are equal. Case, accents and the kind of white space never matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compare {
    /// The same words in the same order. Characters such as `-` and `'` do not separate words (`O'Neil` equals
    /// `ONEIL`).
    #[default]
    Words,
    /// Every expected word is in the answer: a register has all first names, a customer list often only the first.
    Within,
    /// The same letters and digits, for number plates, VINs and registration numbers.
    Identifier,
}
