//! The mode of a campaign: whether the service charges for its answers. It is part of every request body, every key and
//! every output.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// `sandbox` costs nothing and returns fixture data; `production` is charged. The default is sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Sandbox,
    Production,
}

impl Mode {
    /// The service's name for the mode.
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
            other => Err(format!("expected the mode `sandbox` or `production`, found `{other}`")),
        }
    }
}
