//! Which characters are dropped, which are kept, and that a cleaned text does not change again.

use super::*;
use icu_normalizer::{ComposingNormalizer, properties::CanonicalCombiningClassMapBorrowed};
use proptest::prelude::*;

/// Every character that is dropped wherever it is.
fn dropped() -> impl Iterator<Item = char> {
    [
        '\u{ad}'..='\u{ad}',
        '\u{61c}'..='\u{61c}',
        '\u{180e}'..='\u{180e}',
        '\u{200b}'..='\u{200b}',
        '\u{200e}'..='\u{200f}',
        '\u{202a}'..='\u{202e}',
        '\u{2060}'..='\u{2064}',
        '\u{2066}'..='\u{2069}',
        '\u{fe00}'..='\u{fe0f}',
        '\u{feff}'..='\u{feff}',
    ]
    .into_iter()
    .flatten()
}

#[test]
fn every_invisible_character_is_dropped_at_each_place_and_noted_once() {
    // The two joiners too, in scripts whose spelling does not need them.
    for c in dropped().chain(['\u{200c}', '\u{200d}']) {
        for text in [format!("{c}Ines Palomar"), format!("In{c}es Palo{c}mar"), format!("Ines Palomar{c}")] {
            let cleaned = clean(&text);
            assert_eq!((&*cleaned.text, &cleaned.notes[..]), ("Ines Palomar", &[Note::InvisibleDropped][..]), "{c:?}");
        }
        assert_eq!(clean(&c.to_string()).text, "", "{c:?} alone");
    }
}

#[test]
fn a_formula_around_a_text_is_undone() {
    for (text, inside) in [
        ("=\"00017\"", "00017"),
        ("  =\"Ines  Palomar\" ", "Ines Palomar"),
        ("=\"Ines \"\"Nes\"\" Palomar\"", "Ines \"Nes\" Palomar"),
        ("=\"\"\"Ines\"\"\"", "\"Ines\""),
        ("=\"\"Ines\"\"", "Ines"),
        ("\u{feff}=\"00017\"", "00017"),
        ("=\"=\"\"00017\"\"\"", "00017"),
        ("=\"\"", ""),
    ] {
        let cleaned = clean(text);
        assert_eq!(cleaned.text, inside, "{text}");
        assert!(cleaned.notes.contains(&Note::FormulaUnwrapped), "{text}");
    }
    for text in ["=\"a\"&\"b\"", "=A1", "=\"", "=", "\"00017\"", "a=\"b\"", "=\"a\"\"", "='a'"] {
        assert_eq!(clean(text), Cleaned { text: text.into(), notes: vec![] }, "{text}");
    }
}

#[test]
fn special_spaces_are_ordinary_ones_and_noted() {
    for c in
        "\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2007}\u{2009}\u{200a}\u{202f}\u{205f}\u{3000}\u{85}\u{2028}".chars()
    {
        let text = format!("Ines{c}Palomar{c}");
        let cleaned = clean(&text);
        assert_eq!(cleaned.text, "Ines Palomar", "{c:?}");
        assert!(cleaned.notes.contains(&Note::SpecialSpace), "{c:?}");
    }
    assert_eq!(clean(" Ines \t\n Palomar ").notes, [], "spaces that people type");
}

#[test]
fn both_unicode_forms_of_a_name_are_one() {
    let (one, other) = (clean("Zoe\u{308} Andre\u{301}"), clean("Zo\u{eb} Andr\u{e9}"));
    assert_eq!(one.text, other.text);
    assert_eq!((one.notes, other.notes), (vec![Note::Composed], vec![]));
    // The accent joins its letter once nothing is between them.
    assert_eq!(clean("Zoe\u{200b}\u{308}").text, "Zo\u{eb}");
}

#[test]
fn a_text_that_looks_clean_is_not_changed_and_not_noted() {
    for text in [
        "Ines Palomar",
        "O'Brien-Nkosi",
        "Zo\u{eb}",
        "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
        "\u{d2e}\u{d4b}\u{d39}\u{d28}\u{d4d}\u{200d}",
        "\u{930}\u{94d}\u{200d}\u{92f}",
        "\u{908a}\u{e0100}",
        "\u{1820}\u{180b}",
        "\u{5e9}\u{5c1}",
        "\u{110b}\u{119e}",
        "x\u{7}y",
    ] {
        let cleaned = clean(text);
        assert_eq!((&*cleaned.text, cleaned.notes), (text, vec![]), "{}", text.escape_unicode());
    }
}

#[test]
fn line_breaks_inside_are_kept_for_templates() {
    assert_eq!(visible(" \u{feff}Ines\nPalomar\u{200b} ").text, "Ines\nPalomar");
}

#[test]
fn a_remark_names_the_hidden_character_and_its_place_or_the_formula() {
    for (text, says) in [
        ("\u{200b}12", Some("U+200B at character 1")),
        ("12\u{7}", Some("U+0007 at character 3")),
        ("\u{feff}=\"12\"", Some("U+FEFF at character 1")),
        ("\u{3164}", Some("U+3164 at character 1")),
        ("=\"12\"", Some("begins with `=`")),
        (" =A1", Some("begins with `=`")),
        ("12 a", None),
        ("1\n2", None),
    ] {
        match (remark(text), says) {
            (Some(remark), Some(says)) => assert!(remark.contains(says) && !remark.contains("12"), "{remark}"),
            (remark, says) => assert_eq!(remark.as_deref(), says),
        }
    }
}

#[test]
fn every_letter_and_mark_of_every_script_is_kept() {
    let classes = CanonicalCombiningClassMapBorrowed::new();
    let (nfc, mut letters) = (ComposingNormalizer::new_nfc(), 0);
    for c in '\u{21}'..=char::MAX {
        if !(c.is_alphanumeric() || classes.get_u8(c) != 0) {
            continue;
        }
        letters += 1;
        let text = format!("a{c}b");
        assert_eq!(clean(&text).text, nfc.normalize(&text), "U+{:04X}", u32::from(c));
    }
    assert!(letters > 130_000, "{letters}");
}

/// Letters, marks, joiners, quotes, spaces and invisible characters in any order.
fn messy() -> impl Strategy<Value = String> {
    let hidden: Vec<char> = dropped().chain("\u{200c}\u{200d}\u{a0}\u{3000}\u{34f}".chars()).collect();
    let letters: Vec<char> =
        "=\"\" eoA1\u{301}\u{308}\u{345}\u{327}\u{645}\u{647}\u{930}\u{94d}\u{93c}\u{d28}\u{d4d}\u{958}\u{212a}\u{1100}\u{1161}"
            .chars()
            .collect();
    let one = prop_oneof![prop::sample::select(letters), prop::sample::select(hidden), any::<char>()];
    prop::collection::vec(one, 0..14).prop_map(String::from_iter)
}

proptest! {
    #[test]
    fn a_cleaned_text_is_clean(text in prop_oneof![messy(), messy().prop_map(|text| format!("=\"{text}\""))]) {
        let once = clean(&text).text.into_owned();
        let twice = clean(&once);
        prop_assert_eq!(&*twice.text, &once);
        prop_assert_eq!(&twice.notes, &Vec::new());
        prop_assert!(!once.contains(is_invisible) && once == once.trim());
        let again = visible(&text).text.into_owned();
        prop_assert_eq!(&*visible(&again).text, &again);
    }

    #[test]
    fn no_letter_and_no_digit_is_lost(text in messy()) {
        let letters = |text: &str| {
            let decomposed = icu_normalizer::DecomposingNormalizer::new_nfd().normalize(text).into_owned();
            let mut letters: Vec<char> = decomposed.chars().filter(|c| c.is_alphanumeric()).collect();
            letters.sort();
            letters
        };
        prop_assert_eq!(letters(&text), letters(&clean(&text).text));
    }
}
