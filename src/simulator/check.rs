//! A check as the service offers it: the parts of its declaration that the simulator needs, by the simulator's own reading
//! of the TOML. Whether a declaration is complete and free of mistakes is the client's business.

use super::field::{Field, FieldKind, FieldRule};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::{Map, Value};

/// The place of a job's id in a path.
pub(super) const JOB_ID: &str = "{jobId}";

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) summary: String,
    pub(super) flow: Flow,
    /// How long a key is kept. The service's API description, Limits: 72 hours, unless the check says something else.
    #[serde(default = "usual_key_life_hours")]
    pub(super) key_life_hours: u32,
    /// In credits.
    pub(super) price: Option<u64>,
    pub(super) routes: Routes,
    pub(super) job: Option<JobRoutes>,
    /// A failure is kept under its key, and a repeat gets a 409.
    pub(super) cached_failure: Option<IgnoredAny>,
    /// Fields with a constant value, which every request must have.
    #[serde(default)]
    pub(super) fixed: Map<String, Value>,
    #[serde(rename = "field")]
    pub(super) fields: Vec<Field>,
    #[serde(default, rename = "rule")]
    pub(super) rules: Vec<FieldRule>,
    pub(super) answer: AnswerForm,
    pub(super) verdict: Verdicts,
    #[serde(default)]
    assumed_parts: Vec<String>,
}

fn usual_key_life_hours() -> u32 {
    72
}

/// How requests are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Flow {
    /// At once.
    Direct,
    /// At once, or with a 202 to a concurrent retry.
    Replay,
    /// Later, as a job.
    Job,
    /// At once, with a document that is uploaded first if it is large.
    Upload,
}

/// The paths of a check, in the two spellings of the description.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Routes {
    pub(super) guide: String,
    pub(super) alternate: Option<String>,
}

/// The paths about a job, and what it holds while it is not completed.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct JobRoutes {
    pub(super) status: String,
    pub(super) retry_webhook: Option<String>,
    /// In credits.
    pub(super) hold: Option<u64>,
}

/// What an answer contains.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct AnswerForm {
    /// JSON pointers to the content, for both envelopes.
    pub(super) payload: Vec<String>,
    #[serde(default, rename = "column")]
    pub(super) columns: Vec<Column>,
}

/// One value of an answer.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Column {
    /// JSON pointers into the content.
    pub(super) pointers: Vec<String>,
    #[serde(rename = "type")]
    pub(super) kind: ColumnKind,
    expect: Option<Expectation>,
}

/// What a row of a rehearsal may expect of a value.
#[derive(Debug, Clone, Deserialize)]
struct Expectation {
    name: String,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ColumnKind {
    Text,
    Integer,
    Number,
    Boolean,
    Date,
    Timestamp,
    /// A list.
    Count,
    Json,
}

/// The rules by which a client judges an answer.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Verdicts {
    #[serde(default, rename = "rule")]
    pub(super) rules: Vec<VerdictRule>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct VerdictRule {
    pub(super) when: String,
}

/// The mode of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mode {
    Sandbox,
    Production,
}

impl Mode {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Mode::Sandbox => "sandbox",
            Mode::Production => "production",
        }
    }
}

impl Check {
    /// Whether a request may contain a file.
    pub(super) fn has_files(&self) -> bool {
        self.fields.iter().any(|field| field.kind.is_file())
    }

    /// Whether the description does not show a part.
    pub(super) fn is_assumed(&self, part: &str) -> bool {
        self.assumed_parts.iter().any(|known| known == part)
    }

    /// Whether a request sends a file as a part of its body.
    pub(super) fn is_form(&self) -> bool {
        self.fields.iter().any(|field| matches!(field.kind, FieldKind::ImageFile | FieldKind::Document))
    }

    /// The values that a row of a rehearsal may have expectations of, each with the name of the expectation.
    pub(super) fn expectations(&self) -> impl Iterator<Item = (&Column, &str)> {
        self.answer.columns.iter().filter_map(|column| Some((column, column.expect.as_ref()?.name.as_str())))
    }
}

impl AnswerForm {
    /// The content of an answer: the first place that is present and not null.
    pub(super) fn content<'a>(&self, answer: &'a Value) -> Option<&'a Value> {
        self.payload.iter().filter_map(|pointer| answer.pointer(pointer)).find(|found| !found.is_null())
    }
}
