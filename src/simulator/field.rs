//! One field of a request, as a declaration describes it: its kind and its limits. Whether a value keeps to them is decided
//! where requests are parsed.

use super::built_in::LISTS;
use serde::Deserialize;
use serde_json::Value;
use std::fmt;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: FieldKind,
    #[serde(default)]
    pub(super) required: bool,
    /// What the service uses if the field is absent.
    pub(super) default: Option<Value>,
    /// The accepted values; empty means any.
    #[serde(default)]
    pub(super) allowed: Vec<Value>,
    /// The accepted texts.
    pub(super) choices: Option<Choices>,
    #[serde(default)]
    pub(super) letter_case: LetterCase,
    pub(super) length_max: Option<usize>,
    /// How many digits a number has.
    pub(super) digits: Option<Digits>,
    #[serde(default)]
    pub(super) doc: String,
    /// The description does not show the field.
    #[serde(default)]
    pub(super) assumed: bool,
    /// The value is never shown.
    #[serde(default)]
    pub(super) secret: bool,
}

/// The kind of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FieldKind {
    Text,
    Integer,
    Boolean,
    SaId,
    Country2,
    Country3,
    Country,
    Date,
    RegistrationNumber,
    Vin,
    Plate,
    PlateAny,
    Digits,
    Base64,
    /// An image as base64 text.
    Image,
    /// An image as a part of a multipart body.
    ImageFile,
    /// An image or a PDF as a part of a multipart body, or uploaded before.
    Document,
}

impl FieldKind {
    pub(super) fn is_file(self) -> bool {
        matches!(self, FieldKind::Image | FieldKind::ImageFile | FieldKind::Document)
    }
}

/// The letter case of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LetterCase {
    #[default]
    AsIs,
    Lower,
    Upper,
}

/// A rule between fields of one request.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FieldRule {
    /// All of these fields or none.
    Together(Vec<String>),
    /// At least one.
    OneOf(Vec<String>),
    /// At most one.
    AtMostOne(Vec<String>),
}

/// How many digits a number has: `6`, or `{ min = 7, max = 13 }`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
pub(super) enum Digits {
    Exactly(usize),
    Between { min: usize, max: usize },
}

impl Digits {
    /// The least and the greatest number.
    pub(super) fn bounds(self) -> (usize, usize) {
        match self {
            Digits::Exactly(count) => (count, count),
            Digits::Between { min, max } => (min, max),
        }
    }
}

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bounds() {
            (min, max) if min == max => write!(f, "exactly {min} digits"),
            (min, max) => write!(f, "{min} to {max} digits"),
        }
    }
}

/// The texts that a field accepts: a list, or the name of a built-in one.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Choices {
    List(Vec<String>),
    Named(String),
}

impl Choices {
    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            Choices::List(texts) => texts.iter().map(String::as_str).collect(),
            Choices::Named(name) => {
                LISTS.iter().filter(|(known, _)| known == name).flat_map(|(_, text)| text.lines()).collect()
            }
        }
    }
}
