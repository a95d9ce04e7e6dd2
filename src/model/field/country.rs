//! Countries: ISO 3166-1 codes with English names and demonyms, for the `country` filter and the two country kinds. The
//! lookup of a whole name is case-insensitive. Nothing is guessed: a word that may mean several countries is refused.

use super::{refusal::FieldRefusal, visible::clean};
use crate::model::FailureCode;
use std::{collections::HashMap, sync::LazyLock};

/// The codes of a country, in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Country {
    pub alpha2: &'static str,
    pub alpha3: &'static str,
}

/// Columns: two-letter code, three-letter code, names separated by `|`.
static TABLE: &str = include_str!("countries.tsv");

/// Columns: two-letter code, the words for its people separated by `|`.
static DEMONYMS: &str = include_str!("demonyms.tsv");

/// Words that several countries share, in lower case, with these countries.
const AMBIGUOUS: [(&str, &[&str]); 11] = [
    ("congolese", &["Congo-Brazzaville", "Congo-Kinshasa"]),
    ("dominican", &["Dominica", "Dominican Republic"]),
    ("guinean", &["Guinea", "Guinea-Bissau", "Equatorial Guinea"]),
    ("korea", &["North Korea", "South Korea"]),
    ("korean", &["North Korea", "South Korea"]),
    ("s.a", &["South Africa", "Saudi Arabia"]),
    ("s.a.", &["South Africa", "Saudi Arabia"]),
    ("saint martiner", &["Saint Martin", "Sint Maarten"]),
    ("st martiner", &["Saint Martin", "Sint Maarten"]),
    ("virgin islander", &["British Virgin Islands", "US Virgin Islands"]),
    ("virgin islands", &["British Virgin Islands", "US Virgin Islands"]),
];

static BY_NAME: LazyLock<HashMap<String, Country>> = LazyLock::new(|| {
    let mut by_name = HashMap::new();
    for line in TABLE.lines() {
        let mut parts = line.split('\t');
        let (Some(alpha2), Some(alpha3), Some(names)) = (parts.next(), parts.next(), parts.next()) else {
            unreachable!("the table is the project's own and every line has three parts")
        };
        let country = Country { alpha2, alpha3 };
        for name in names.split('|').chain([alpha2, alpha3]) {
            by_name.insert(name.to_lowercase(), country);
        }
    }
    for line in DEMONYMS.lines() {
        let Some((alpha2, words)) = line.split_once('\t') else {
            unreachable!("the table is the project's own and every line has two parts")
        };
        let country = by_name[alpha2];
        for word in words.split('|') {
            by_name.insert(word.to_lowercase(), country);
        }
    }
    by_name
});

/// The country with this code, English name or demonym (`South African`), case-insensitive.
pub fn find(text: &str) -> Option<Country> {
    BY_NAME.get(&folded(text)).copied()
}

/// Why a text is not a country. `expected` is what could be written instead. The text is not repeated.
pub fn refusal(text: &str, expected: &str) -> FieldRefusal {
    let text = folded(text);
    let message = match AMBIGUOUS.iter().find(|(word, _)| *word == text) {
        Some((_, [others @ .., last])) => {
            format!("found a word that may mean {} or {last}; write one of these names", others.join(", "))
        }
        _ => format!("expected {expected}, found something else; correct it"),
    };
    FieldRefusal { code: FailureCode::UnknownCountry, message }
}

fn folded(text: &str) -> String {
    clean(text).text.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_names_and_demonyms_find_the_same_country() {
        for text in ["ZA", "zaf", "South Africa", " south  africa ", "South African", "SOUTH  AFRICAN", "R.S.A.", "RSA"]
        {
            assert_eq!(find(text).unwrap().alpha2, "za", "{text}");
        }
        assert_eq!(find("Korea, North").unwrap().alpha3, "prk");
        for text in ["South", "", "-", "African", "European", "Saint"] {
            assert_eq!(find(text), None, "{text}");
        }
        for (text, alpha2) in [
            ("American", "us"),
            ("u.s.a.", "us"),
            ("British", "gb"),
            ("Dutch", "nl"),
            ("Nigerian", "ng"),
            ("Nigerien", "ne"),
            ("Bissau-Guinean", "gw"),
            ("Equatorial Guinean", "gq"),
            ("Papua New Guinean", "pg"),
            ("South Sudanese", "ss"),
            ("Ivorian", "ci"),
            ("Mosotho", "ls"),
        ] {
            assert_eq!(find(text).unwrap().alpha2, alpha2, "{text}");
        }
    }

    #[test]
    fn a_word_that_several_countries_share_is_refused_with_all_of_them() {
        for (word, countries) in AMBIGUOUS {
            assert_eq!(find(word), None, "{word}");
            let FieldRefusal { code, message } = refusal(&word.to_uppercase(), "a country");
            assert_eq!(code, FailureCode::UnknownCountry);
            for country in countries {
                assert!(find(country).is_some() && message.contains(country), "{word}: {message}");
            }
        }
        let korean = "found a word that may mean North Korea or South Korea; write one of these names";
        assert_eq!(refusal("Korean", "a country").message, korean);
        assert_eq!(refusal("Thandi", "a country").message, "expected a country, found something else; correct it");
    }

    #[test]
    fn the_table_has_every_code_once() {
        let mut codes: Vec<&str> = TABLE.lines().map(|line| &line[..2]).collect();
        let all = codes.len();
        codes.sort();
        codes.dedup();
        assert_eq!((codes.len(), all), (250, 250), "249 of ISO 3166-1 and Kosovo's user-assigned code");
    }

    #[test]
    fn no_demonym_has_two_countries_and_every_inhabited_country_has_one() {
        let mut owners: HashMap<String, &str> = HashMap::new();
        for line in TABLE.lines() {
            let (alpha2, rest) = line.split_once('\t').unwrap();
            for name in rest.split(['\t', '|']) {
                owners.insert(name.to_lowercase(), alpha2);
            }
        }
        let mut without: Vec<&str> = TABLE.lines().map(|line| &line[..2]).collect();
        for line in DEMONYMS.lines() {
            let (alpha2, words) = line.split_once('\t').unwrap();
            without.retain(|code| *code != alpha2);
            for word in words.split('|') {
                let other = owners.insert(word.to_lowercase(), alpha2);
                assert_eq!(other, None, "{word}");
                assert!(!AMBIGUOUS.iter().any(|(shared, _)| *shared == word.to_lowercase()), "{word}");
            }
        }
        let uninhabited_or_shared =
            ["aq", "bv", "cd", "cg", "dm", "do", "gn", "gs", "hm", "io", "mf", "sj", "sx", "tf", "um", "va"];
        assert_eq!(without, uninhabited_or_shared);
    }
}
