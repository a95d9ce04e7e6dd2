//! The words with which several replies begin. They may be shown: what the replies to different rows have in common is not
//! about the person of one row.

/// The most words that are shown.
const WORDS_MAX: usize = 16;
/// The longest word that is shown, in characters.
const WORD_CHARACTERS_MAX: usize = 40;
/// The fewest different texts that show which words are not about one row.
const TEXTS_MIN: usize = 2;

/// The words with which all texts begin that were added.
#[derive(Debug, Default)]
pub struct CommonWords {
    texts: usize,
    words: Vec<String>,
    /// Some text has more words.
    is_cut: bool,
}

impl CommonWords {
    /// Adds the reply to another row.
    pub fn add(&mut self, text: &str) {
        self.texts += 1;
        let words = text.split_whitespace();
        if self.texts == 1 {
            let is_short = |word: &&str| word.chars().count() <= WORD_CHARACTERS_MAX;
            self.words = words.clone().take(WORDS_MAX).take_while(is_short).map(str::to_owned).collect();
            self.is_cut = words.count() > self.words.len();
            return;
        }
        let common = self.words.iter().zip(words).take_while(|(ours, theirs)| ours == theirs).count();
        self.is_cut |= common < self.words.len();
        self.words.truncate(common);
    }

    /// The words in common; `None` if there are none, or if only one text was added.
    pub fn shown(&self) -> Option<String> {
        let is_shown = self.texts >= TEXTS_MIN && !self.words.is_empty();
        is_shown.then(|| self.words.join(" ") + if self.is_cut { " …" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(texts: &[&str]) -> Option<String> {
        let mut words = CommonWords::default();
        texts.iter().for_each(|text| words.add(text));
        words.shown()
    }

    #[test]
    fn only_what_different_replies_have_in_common_is_shown() {
        assert_eq!(common(&["Your balance is too low"; 3]).as_deref(), Some("Your balance is too low"));
        assert_eq!(common(&["no such person: Ada", "no such person: Ben"]).as_deref(), Some("no such person: …"));
        assert_eq!(common(&["no such person", "no such person: Ben"]).as_deref(), Some("no such …"));
        for none in [&[][..], &["Ada is blocked"], &["Ada is blocked", "Ben is blocked"], &["", ""]] {
            assert_eq!(common(none), None, "{none:?}");
        }
        let long = "word ".repeat(100);
        assert_eq!(common(&[&long, &long]).unwrap().split(' ').count(), WORDS_MAX + 1);
        let token = format!("token {}", "x".repeat(500));
        assert_eq!(common(&[&token, &token]).as_deref(), Some("token …"));
    }
}
