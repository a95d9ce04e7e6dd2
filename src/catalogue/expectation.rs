//! Compares an answer with what the user expects. The comparison is local and costs nothing. This module decides when
//! two values are equal. A value that the answer does not state is neither equal nor different.

use super::{ColumnSpec, ColumnValue, Compare};
use icu_normalizer::DecomposingNormalizer;
use serde_json::Value;

impl ColumnSpec {
    /// Whether an answer's payload has the expected value; `None` if it states no value.
    pub fn meets(&self, expected: &Value, payload: &Value) -> Option<bool> {
        let compare = self.expect.as_ref().map(|expect| expect.compare).unwrap_or_default();
        match self.read(payload) {
            ColumnValue::Null | ColumnValue::Number(_) | ColumnValue::Timestamp(_) | ColumnValue::Json(_) => None,
            ColumnValue::Text(found) => {
                let expected = expected.as_str().map_or_else(|| expected.to_string(), str::to_owned);
                same(compare, &expected, &found)
            }
            ColumnValue::Integer(found) => Some(expected.as_i64() == Some(found)),
            ColumnValue::Boolean(found) => Some(expected.as_bool() == Some(found)),
            ColumnValue::Date(found) => Some(expected.as_str() == Some(found.to_string().as_str())),
        }
    }
}

fn same(compare: Compare, expected: &str, found: &str) -> Option<bool> {
    let (expected, found) = (words(expected), words(found));
    if found.is_empty() {
        return None;
    }
    Some(match compare {
        Compare::Words => expected == found,
        Compare::Within => !expected.is_empty() && expected.iter().all(|word| found.contains(word)),
        Compare::Identifier => expected.concat() == found.concat(),
    })
}

/// The words of a text in lower case, reduced to letters and digits, without accents.
fn words(text: &str) -> Vec<String> {
    let plain = DecomposingNormalizer::new_nfkd().normalize(text).to_lowercase();
    let word = |word: &str| word.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    plain.split_whitespace().map(word).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{ColumnKind, ExpectSpec},
        *,
    };
    use serde_json::json;

    fn column(kind: ColumnKind, compare: Compare) -> ColumnSpec {
        let expect = Some(ExpectSpec { name: "x".into(), compare });
        ColumnSpec { name: "x".into(), pointers: vec!["/x".into()], kind, assumed: false, image: false, expect }
    }

    fn text(compare: Compare, expected: &str, found: &str) -> Option<bool> {
        column(ColumnKind::Text, compare).meets(&json!(expected), &json!({ "x": found }))
    }

    #[test]
    fn case_accents_spaces_and_punctuation_are_ignored_and_letters_are_not() {
        for (expected, found) in [
            ("van der Merwe", "VAN  DER MERWE"),
            ("Zoë André", "ZOE ANDRE"),
            ("O'Neil", "ONEIL"),
            ("Smith-Jones", "SMITHJONES"),
        ] {
            assert_eq!(text(Compare::Words, expected, found), Some(true), "{expected} {found}");
        }
        for (expected, found) in [("Nkosi", "Nkosie"), ("der Merwe", "van der Merwe"), ("van Wyk", "Wyk van")] {
            assert_eq!(text(Compare::Words, expected, found), Some(false), "{expected} {found}");
        }
    }

    #[test]
    fn one_of_several_first_names_is_enough_and_all_that_are_expected_are_needed() {
        assert_eq!(text(Compare::Within, "Thandi", "THANDI GRACE"), Some(true));
        assert_eq!(text(Compare::Within, "grace thandi", "Thandi Grace"), Some(true));
        assert_eq!(text(Compare::Within, "Thandi Rose", "Thandi Grace"), Some(false));
        assert_eq!(text(Compare::Within, "Than", "Thandi"), Some(false), "a part of a word is another word");
        assert_eq!(text(Compare::Within, "--", "Thandi"), Some(false));
    }

    #[test]
    fn only_the_letters_and_digits_of_an_identifier_are_compared() {
        assert_eq!(text(Compare::Identifier, "CA 123-456", "ca123456"), Some(true));
        assert_eq!(text(Compare::Identifier, "CA 123-456", "CA 123 457"), Some(false));
    }

    #[test]
    fn a_value_that_the_answer_does_not_state_is_neither_equal_nor_different() {
        assert_eq!(text(Compare::Words, "Nkosi", " "), None);
        let date = column(ColumnKind::Date, Compare::Words);
        assert_eq!(date.meets(&json!("1980-01-01"), &json!({})), None);
        assert_eq!(date.meets(&json!("1980-01-01"), &json!({"x": null})), None);
        assert_eq!(
            date.meets(&json!("1980-01-01"), &json!({"x": "01/01/1980"})),
            None,
            "in another format than declared"
        );
        assert_eq!(date.meets(&json!("1980-01-01"), &json!({"x": "1980-01-01"})), Some(true));
        assert_eq!(date.meets(&json!("1980-01-02"), &json!({"x": "1980-01-01"})), Some(false));
        let year = column(ColumnKind::Integer, Compare::Words);
        assert_eq!(year.meets(&json!(2019), &json!({"x": "2019"})), Some(true));
        assert_eq!(year.meets(&json!(2018), &json!({"x": 2019})), Some(false));
    }
}
