//! The words with which several replies begin. They may be shown: what the replies to different rows have in common is not
//! about the person of one row.

use std::collections::BTreeMap;

/// The most words that are shown.
const WORDS_MAX: usize = 16;
/// The longest word that is shown, in characters.
const WORD_CHARACTERS_MAX: usize = 40;
/// The fewest requests of one check. Several checks of one row are about the same person.
const REQUESTS_MIN: u64 = 2;

/// The words with which all texts begin that were added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedWords {
    /// The texts by check.
    texts: BTreeMap<String, u64>,
    words: Vec<String>,
    /// Some text has more words.
    is_cut: bool,
}

impl SharedWords {
    /// Adds the reply to another request of this check.
    pub fn add(&mut self, check: &str, text: &str) {
        let words = text.split_whitespace();
        if self.texts.is_empty() {
            let is_short = |word: &&str| word.chars().count() <= WORD_CHARACTERS_MAX;
            self.words = words.clone().take(WORDS_MAX).take_while(is_short).map(str::to_owned).collect();
            self.is_cut = words.count() > self.words.len();
        } else {
            let common = self.words.iter().zip(words).take_while(|(ours, theirs)| ours == theirs).count();
            self.is_cut |= common < self.words.len();
            self.words.truncate(common);
        }
        *self.texts.entry(check.to_owned()).or_default() += 1;
    }

    /// The number of texts.
    pub fn count(&self) -> u64 {
        self.texts.values().sum()
    }

    /// The words in common; `None` if there are none, or if they may be about the person of one row.
    pub fn shown(&self) -> Option<String> {
        let is_shown = self.texts.values().any(|texts| *texts >= REQUESTS_MIN) && !self.words.is_empty();
        is_shown.then(|| self.words.join(" ") + if self.is_cut { " …" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(texts: &[&str]) -> Option<String> {
        let mut words = SharedWords::default();
        texts.iter().for_each(|text| words.add("a", text));
        assert_eq!(words.count(), texts.len() as u64);
        words.shown()
    }

    #[test]
    fn only_what_different_replies_have_in_common_is_shown() {
        assert_eq!(shared(&["Your balance is too low"; 3]).as_deref(), Some("Your balance is too low"));
        assert_eq!(shared(&["no such person: Ada", "no such person: Ben"]).as_deref(), Some("no such person: …"));
        assert_eq!(shared(&["no such person", "no such person: Ben"]).as_deref(), Some("no such …"));
        for none in [&[][..], &["Ada is blocked"], &["Ada is blocked", "Ben is blocked"], &["", ""]] {
            assert_eq!(shared(none), None, "{none:?}");
        }
        let long = "word ".repeat(100);
        assert_eq!(shared(&[&long, &long]).unwrap().split(' ').count(), WORDS_MAX + 1);
        let token = format!("token {}", "x".repeat(500));
        assert_eq!(shared(&[&token, &token]).as_deref(), Some("token …"));
    }

    #[test]
    fn several_checks_of_one_row_do_not_show_its_person() {
        let mut words = SharedWords::default();
        ["a", "b", "c"].iter().for_each(|check| words.add(check, "8001015009087 is not valid"));
        assert_eq!(words.shown(), None);
    }
}
