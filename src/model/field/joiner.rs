//! The zero-width joiner and non-joiner. In Persian and in the scripts of India and its neighbours they are part of the
//! spelling of names; elsewhere they are invisible leftovers. This module decides which of them are spelling.

use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;

const NON_JOINER: char = '\u{200c}';
const JOINER: char = '\u{200d}';

/// The Unicode combining class of a virama, the sign that joins two consonants.
const VIRAMA: u8 = 9;

/// Whether a character is one of the two.
pub fn is_joiner(c: char) -> bool {
    c == NON_JOINER || c == JOINER
}

/// Whether the joiner at `at` is part of a spelling: between two letters of a script that uses joiners, or, as in older
/// spellings of Malayalam and Bengali, a zero-width joiner after a virama.
pub fn is_spelling(characters: &[char], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| characters[before]) else { return false };
    let after = characters[at + 1..].iter().find(|c| !is_joiner(**c));
    is_letter_that_joins(before)
        && (after.is_some_and(|after| is_letter_that_joins(*after))
            || characters[at] == JOINER && combining_class(before) == VIRAMA)
}

/// Whether a character is a letter, or a sign on a letter, of a script whose spelling may need joiners.
fn is_letter_that_joins(c: char) -> bool {
    let is_of_script = matches!(c,
        // Arabic, Syriac, Thaana, N'Ko, Samaritan, Mandaic
        '\u{600}'..='\u{8ff}'
        // the scripts of India, Thai, Lao, Tibetan, Myanmar
        | '\u{900}'..='\u{109f}'
        // the scripts of the Philippines, Khmer, Mongolian, Limbu to Balinese
        | '\u{1700}'..='\u{18af}' | '\u{1900}'..='\u{1aff}' | '\u{1b00}'..='\u{1c4f}' | '\u{1cd0}'..='\u{1cff}'
        // Syloti Nagri to Meetei Mayek, Arabic presentation forms
        | '\u{a800}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        // the same families beyond the first plane: Kharoshthi to Hanifi Rohingya, Arabic, Brahmi to Kawi, Adlam
        | '\u{10a00}'..='\u{10fff}' | '\u{11000}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}' | '\u{1ee00}'..='\u{1eeff}');
    is_of_script && (c.is_alphabetic() || combining_class(c) != 0)
}

fn combining_class(c: char) -> u8 {
    CanonicalCombiningClassMapBorrowed::new().get_u8(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The joiners of a text that are spelling, as places.
    fn spelling(text: &str) -> Vec<usize> {
        let characters: Vec<char> = text.chars().collect();
        (0..characters.len()).filter(|at| is_joiner(characters[*at]) && is_spelling(&characters, *at)).collect()
    }

    #[test]
    fn a_joiner_between_letters_of_its_scripts_is_spelling_and_any_other_is_not() {
        for (text, places) in [
            ("\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}", vec![2]),
            ("\u{930}\u{94d}\u{200d}\u{92f}", vec![2]),
            // A chillu at the end of a Malayalam name, written as consonant, virama and joiner.
            ("\u{d2e}\u{d4b}\u{d39}\u{d28}\u{d4d}\u{200d}", vec![5]),
            ("\u{d28}\u{d4d}\u{200c}", vec![]),
            ("Ines\u{200d}Palomar", vec![]),
            ("\u{200c}\u{645}", vec![]),
            ("\u{645}\u{200c}", vec![]),
            ("\u{645}\u{200c} \u{645}", vec![]),
            ("\u{645}\u{200c}\u{200c}\u{645}", vec![1]),
            ("\u{660}\u{200c}\u{661}", vec![]),
        ] {
            assert_eq!(spelling(text), places, "{}", text.escape_unicode());
        }
    }
}
