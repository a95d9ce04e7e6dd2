//! The declaration of a check: everything the project knows about one thing the service sells, as data. Mapping, client,
//! sink, simulator and `rescreen checks` all read it, and a campaign file may hold whole declarations in the same format.

use crate::model::{
    Credits, Verdict,
    field::{Accepted, FieldKind, LetterCase, refusal::FieldRefusal},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One check, as its TOML file says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// The name users write: lower case, words joined by `-`.
    pub name: String,
    pub summary: String,
    pub flow: Flow,
    /// How long the service keeps a key, in hours. Service-api, Limits: 72 h; adverse media 48 h.
    #[serde(default = "default_key_life_hours")]
    pub key_life_hours: u32,
    /// The price in credits where the service's description states one; open otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Credits>,
    pub routes: Routes,
    /// Fields every request carries with a constant value, outside the key.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fixed: Map<String, Value>,
    #[serde(rename = "field")]
    pub fields: Vec<FieldSpec>,
    /// Rules between fields.
    #[serde(default, rename = "rule", skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<FieldRule>,
    pub answer: AnswerSpec,
    pub verdict: VerdictSpec,
}

fn default_key_life_hours() -> u32 {
    72
}

/// Two spellings of a path are stated for some checks, and which one a service accepts is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routes {
    pub guide: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternate: Option<String>,
}

/// Which list of paths is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spelling {
    #[default]
    Guide,
    Alternate,
}

impl Routes {
    /// The path in the wanted spelling; the guide's where there is no other.
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
    /// The result columns that rows may expect something of.
    pub fn expectations(&self) -> impl Iterator<Item = (&ColumnSpec, &ExpectSpec)> {
        self.answer.columns.iter().filter_map(|column| Some((column, column.expect.as_ref()?)))
    }
}

/// How a request goes: the irregular part of the service, in Rust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flow {
    /// One POST is answered.
    Direct,
    /// One POST is answered, or a 202 says pending and the same key is repeated until it is.
    Replay,
}

/// One field of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldSpec {
    pub name: String,
    pub kind: FieldKind,
    #[serde(default)]
    pub required: bool,
    /// Sent where nothing is mapped; outside the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The values the service knows; empty means any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Value>,
    #[serde(default)]
    pub letter_case: LetterCase,
    /// Characters, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length_max: Option<usize>,
    /// Column names that feed this field when no mapping is given; compared with case, blanks, `_` and `-` ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub synonyms: Vec<String>,
    #[serde(default)]
    pub doc: String,
    /// Not in the service's description.
    #[serde(default)]
    pub assumed: bool,
}

impl FieldSpec {
    /// The value as it will be sent, or what was expected instead. The message never repeats the value.
    pub fn accept(&self, text: &str) -> Result<Accepted, FieldRefusal> {
        let accepted = self.kind.accept(text, self.letter_case)?;
        if let (Some(length_max), Some(text)) = (self.length_max, accepted.value.as_str())
            && text.chars().count() > length_max
        {
            let length = text.chars().count();
            return Err(FieldRefusal::invalid(format!("expected at most {length_max} characters, found {length}")));
        }
        if !self.allowed.is_empty() && !self.allowed.contains(&accepted.value) {
            let allowed: Vec<String> = self.allowed.iter().map(Value::to_string).collect();
            return Err(FieldRefusal::invalid(format!("expected one of {}", allowed.join(", "))));
        }
        Ok(accepted)
    }
}

/// A rule between fields of one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum FieldRule {
    /// All of them or none.
    Together(Vec<String>),
    /// At least one of them.
    OneOf(Vec<String>),
}

impl FieldRule {
    /// The fields the rule speaks of.
    pub fn fields(&self) -> &[String] {
        match self {
            FieldRule::Together(fields) | FieldRule::OneOf(fields) => fields,
        }
    }

    /// Whether the fields given satisfy the rule, or what was expected.
    pub fn check(&self, given: &Map<String, Value>) -> Result<(), String> {
        let count = self.fields().iter().filter(|field| given.contains_key(*field)).count();
        match self {
            FieldRule::Together(fields) if count != 0 && count != fields.len() => {
                Err(format!("expected all of {} or none", fields.join(", ")))
            }
            FieldRule::OneOf(fields) if count == 0 => Err(format!("expected one of {}", fields.join(", "))),
            _ => Ok(()),
        }
    }
}

/// Where an answer's content stands, and which of it become typed columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerSpec {
    /// JSON pointers; the first that is present is the payload, which columns and rules read. Both envelopes are listed.
    pub payload: Vec<String>,
    #[serde(default, rename = "column", skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnSpec>,
}

/// One typed column of the results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    pub name: String,
    /// JSON pointers into the payload; the first that is present counts.
    pub pointers: Vec<String>,
    #[serde(rename = "type")]
    pub kind: ColumnKind,
    #[serde(default)]
    pub assumed: bool,
    /// Where rows may say what they expect here.
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
    /// `YYYY-MM-DD`.
    Date,
    /// The length of a list, or a whole number as it stands.
    Count,
    /// A part of the answer as JSON text.
    Json,
}

/// How an answer becomes a verdict: MiniJinja expressions over `payload` (see [`AnswerSpec`]) and `answer` (all of it).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictSpec {
    /// Whether the rules know this answer at all; where not, the verdict is `unrecognised`.
    pub recognised: String,
    /// The first rule that holds gives verdict and finding.
    #[serde(default, rename = "rule")]
    pub rules: Vec<VerdictRule>,
    /// What it is when no rule holds. Never `clear`.
    pub otherwise: Finding,
    /// Not in the service's description.
    #[serde(default)]
    pub assumed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictRule {
    pub when: String,
    pub verdict: Verdict,
    pub finding: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    pub verdict: Verdict,
    pub finding: String,
}

/// A result column that may be expected: `expect.NAME` of a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectSpec {
    /// What users write.
    pub name: String,
    /// Texts only; any other type is compared by value.
    #[serde(default)]
    pub compare: Compare,
}

/// When two texts say the same. Case, accents and the kind of blank never make a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compare {
    /// The same words in the same order; signs such as `-` and `'` part no words (`O'Neil` is `ONEIL`).
    #[default]
    Words,
    /// Every expected word is one of the answer's: a register has all first names, a customer book the first.
    Within,
    /// The same letters and digits: number plates, VINs, registration numbers.
    Identifier,
}
