//! A part of a whole: a count or a percentage.

use serde::{Deserialize, Serialize, Serializer};

/// A count or a percentage: `20` or `"2.5%"`.
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

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Share::Count(count) => serializer.serialize_u64(*count),
            Share::Percent(percent) => serializer.collect_str(&format_args!("{percent}%")),
        }
    }
}

impl std::str::FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let expected = || format!("expected a count such as `20` or a percentage such as `2.5%`, found `{text}`");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_or_a_percentage() {
        assert!("25%".parse::<Share>().unwrap().is_exceeded(26, 100));
        assert!(!"25%".parse::<Share>().unwrap().is_exceeded(25, 100));
        assert!("3".parse::<Share>().unwrap().is_exceeded(4, 1_000_000));
        assert!("101%".parse::<Share>().is_err() && "few".parse::<Share>().is_err());
    }
}
