//! How a reply says that the request under its key has failed before: the codes that a check declares.

use serde::{Deserialize, Serialize};

/// What marks a cached failure: the service worked on the request under this key, failed, and repeats that. A failed
/// request is not completed, so it is not charged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CachedFailureSpec {
    /// The codes of a refusal that is a cached failure, such as `CACHED_FAILURE`. Case and punctuation do not matter.
    pub codes: Vec<String>,
}

/// Checks that each code can be told apart from text.
///
/// # Errors
/// What was expected.
pub(super) fn check(spec: Option<&CachedFailureSpec>) -> Result<(), String> {
    let Some(spec) = spec else { return Ok(()) };
    let is_code = |code: &String| code.chars().any(char::is_alphabetic) && !code.contains(char::is_whitespace);
    match spec.codes.iter().find(|code| !is_code(code)) {
        Some(code) => Err(format!("cached_failure.codes: expected codes such as CACHED_FAILURE, found `{code}`")),
        None if spec.codes.is_empty() => {
            Err("cached_failure.codes: expected at least one code, found none; remove the table".to_owned())
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_words() {
        let of = |codes: &[&str]| CachedFailureSpec { codes: codes.iter().map(|code| (*code).to_owned()).collect() };
        assert_eq!((check(None), check(Some(&of(&["CACHED_FAILURE", "E7"])))), (Ok(()), Ok(())));
        for codes in [&[][..], &[""], &["409"], &["it failed"]] {
            assert!(check(Some(&of(codes))).unwrap_err().contains("cached_failure.codes"), "{codes:?}");
        }
    }
}
