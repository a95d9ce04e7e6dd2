//! Characters that people add to an identifier and that are not part of it: spaces, hyphens, and the apostrophe with which a
//! spreadsheet marks a number as text. Every kind of identifier drops the same ones, so that one subject has one key.

const APOSTROPHES: [char; 4] = ['\'', '\u{2018}', '\u{2019}', '`'];
const HYPHENS: [char; 7] = ['-', '\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2212}'];

/// The text without a leading apostrophe.
pub fn without_apostrophe(text: &str) -> &str {
    text.strip_prefix(APOSTROPHES).unwrap_or(text)
}

/// The text without spaces and hyphens.
pub fn cleaned(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !HYPHENS.contains(c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_and_hyphens_are_dropped_and_other_signs_are_kept() {
        assert_eq!(cleaned(" 80 01-01\u{2013}5009\u{a0}087 "), "8001015009087");
        assert_eq!(cleaned("CA/123.456"), "CA/123.456");
        assert_eq!((without_apostrophe("'051001"), without_apostrophe("051'001")), ("051001", "051'001"));
    }
}
