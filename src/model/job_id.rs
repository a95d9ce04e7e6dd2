//! The id of a job at the service. It becomes part of a path and of an output, so only a plain id is used.

use std::fmt;

/// Maximum length of a job id in bytes.
const LENGTH_MAX: usize = 128;

/// A job id of at most 128 ASCII letters, digits, `-`, `_`, `.`, `:`, `~`, `=` and `+`, which begins with a letter or a
/// digit. It is one segment of a path, and cannot lead to another route.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobId(String);

impl JobId {
    /// The id, if it is plain.
    pub fn new(text: &str) -> Option<JobId> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:~=+".contains(&byte);
        let is_plain = text.len() <= LENGTH_MAX && text.bytes().all(fits) && !text.contains("..");
        (is_plain && text.starts_with(|c: char| c.is_ascii_alphanumeric())).then(|| JobId(text.to_owned()))
    }

    /// Whether two ids name the same job: some services write a UUID in the other case.
    pub fn is_same(&self, other: &JobId) -> bool {
        let uuid = |id: &JobId| uuid::Uuid::try_parse(&id.0).ok();
        self == other || uuid(self).is_some() && uuid(self) == uuid(other)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id as a segment of a path: some servers read a `+` as a space.
    pub fn in_path(&self) -> String {
        self.0.replace('+', "%2B").replace('=', "%3D")
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_id_is_kept_as_it_is() {
        for text in ["job_01J8", "7", "3f2c0d1e-9f0a-4b5c-8d7e-000000000000", "a:b~c.d", "Sm9i+MQ==", &"x".repeat(128)]
        {
            assert_eq!(JobId::new(text).map(|id| id.to_string()).as_deref(), Some(text));
        }
    }

    #[test]
    fn an_id_is_encoded_in_a_path() {
        let in_path = |text| JobId::new(text).unwrap().in_path();
        assert_eq!((in_path("job_1"), in_path("a+b==")), ("job_1".to_owned(), "a%2Bb%3D%3D".to_owned()));
    }

    #[test]
    fn an_id_that_could_lead_elsewhere_in_a_path_is_refused() {
        for text in [
            "",
            "../x",
            "a/b",
            "a..b",
            "a?b",
            "a#b",
            "a%2fb",
            "a b",
            "a\n",
            ".a",
            "-a",
            "~a",
            "\u{e9}",
            &"x".repeat(129),
        ] {
            assert_eq!(JobId::new(text), None, "{text}");
        }
    }
}
