//! The mode of a campaign: whether the service charges for what it answers. It stands in every request's body, in every
//! key, and in every output.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// `sandbox` costs nothing and returns fixture data; `production` is charged. Sandbox unless told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Sandbox,
    Production,
}

impl Mode {
    /// The word the service uses for the mode.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Sandbox => "sandbox",
            Mode::Production => "production",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Mode, String> {
        match text {
            "sandbox" => Ok(Mode::Sandbox),
            "production" => Ok(Mode::Production),
            other => Err(format!("mode is `sandbox` or `production`, not `{other}`")),
        }
    }
}
