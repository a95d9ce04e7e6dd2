//! Countries: ISO 3166-1 codes with English names, for the `country` filter and the two country kinds. The lookup of a
//! whole name is case-insensitive; nothing is guessed.

use std::{collections::HashMap, sync::LazyLock};

/// The codes of a country, in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Country {
    pub alpha2: &'static str,
    pub alpha3: &'static str,
}

/// Columns: two-letter code, three-letter code, names separated by `|`.
static TABLE: &str = include_str!("countries.tsv");

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
    by_name
});

/// The country with this code or English name, case-insensitive.
pub fn find(code_or_name: &str) -> Option<Country> {
    BY_NAME.get(&code_or_name.trim().to_lowercase()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_find_the_same_country() {
        for text in ["ZA", "zaf", "South Africa", " south africa "] {
            assert_eq!(find(text).unwrap().alpha2, "za", "{text}");
        }
        assert_eq!(find("Korea, North").unwrap().alpha3, "prk");
        assert_eq!(find("South"), None);
    }

    #[test]
    fn the_table_has_every_code_once() {
        let mut codes: Vec<&str> = TABLE.lines().map(|line| &line[..2]).collect();
        let all = codes.len();
        codes.sort();
        codes.dedup();
        assert_eq!((codes.len(), all), (250, 250), "249 of ISO 3166-1 and Kosovo's user-assigned code");
    }
}
