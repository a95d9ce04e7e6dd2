//! What a value looks like, without a field in mind: a number, an address, a South African plate, the name of a company,
//! a word for a person or a company. The words are lists of the program; no value of a row is kept.

use crate::model::field::cleaned::cleaned;

/// How many values look like each of these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traits {
    /// Values with at least two letters, and more letters than digits.
    pub texts: usize,
    /// Texts of several words, as names are and codes are not.
    pub several_words: usize,
    pub numbers: usize,
    /// Numbers with a fraction, such as amounts. `1001.0` is a whole number that a workbook wrote.
    pub decimals: usize,
    pub addresses: usize,
    /// Texts of more than 80 characters.
    pub long: usize,
    /// Names with a legal form of a company.
    pub companies: usize,
    pub sa_plates: usize,
    /// Words for a person, and for a company.
    pub person_words: usize,
    pub company_words: usize,
    /// `0`, `1`.
    pub zero_or_one: usize,
    /// Paths with the extension of an image or a document.
    pub file_names: usize,
    /// Which entity words occur, by their place in [`ENTITY_WORDS`].
    pub words: u64,
}

impl Traits {
    pub fn add(&mut self, other: &Traits) {
        self.texts += other.texts;
        self.several_words += other.several_words;
        self.numbers += other.numbers;
        self.decimals += other.decimals;
        self.addresses += other.addresses;
        self.long += other.long;
        self.companies += other.companies;
        self.sa_plates += other.sa_plates;
        self.person_words += other.person_words;
        self.company_words += other.company_words;
        self.zero_or_one += other.zero_or_one;
        self.file_names += other.file_names;
        self.words |= other.words;
    }

    /// The words for a person or a company that occur, in lower case, and what each stands for: 0 or 1.
    pub fn entity_words(&self) -> Vec<(&'static str, u8)> {
        let occurs = |(at, _): &(usize, &(&str, u8))| self.words & (1 << at) != 0;
        ENTITY_WORDS.iter().enumerate().filter(occurs).map(|(_, word)| *word).collect()
    }
}

/// Words that say whether a row is a person (0) or a company (1).
pub const ENTITY_WORDS: [(&str, u8); 38] = [
    ("person", 0),
    ("individual", 0),
    ("natural person", 0),
    ("natural", 0),
    ("human", 0),
    ("private person", 0),
    ("private individual", 0),
    ("individual person", 0),
    ("sole proprietor", 0),
    ("persoon", 0),
    ("p", 0),
    ("i", 0),
    ("ind", 0),
    ("company", 1),
    ("organisation", 1),
    ("organization", 1),
    ("business", 1),
    ("corporate", 1),
    ("corporation", 1),
    ("juristic", 1),
    ("juristic person", 1),
    ("legal entity", 1),
    ("legal person", 1),
    ("entity", 1),
    ("enterprise", 1),
    ("firm", 1),
    ("institution", 1),
    ("close corporation", 1),
    ("private company", 1),
    ("public company", 1),
    ("trust", 1),
    ("npo", 1),
    ("non-profit", 1),
    ("maatskappy", 1),
    ("c", 1),
    ("o", 1),
    ("org", 1),
    ("co", 1),
];

/// Legal forms at the end of a company's name.
const LEGAL_FORMS: [&str; 22] = [
    "ltd",
    "limited",
    "pty",
    "inc",
    "incorporated",
    "cc",
    "llc",
    "llp",
    "plc",
    "gmbh",
    "s.a",
    "b.v",
    "n.v",
    "corp",
    "corporation",
    "company",
    "npc",
    "edms",
    "bpk",
    "sarl",
    "srl",
    "trading",
];

const FILE_EXTENSIONS: [&str; 8] = [".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".pdf", ".heic"];
const LONG_CHARACTERS: usize = 80;

/// What one value looks like.
pub fn traits(text: &str) -> Traits {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let folded = text.to_lowercase();
    let word = ENTITY_WORDS.iter().position(|(word, _)| *word == folded);
    let stands_for = |entity: u8| usize::from(word.is_some_and(|at| ENTITY_WORDS[at].1 == entity));
    let is_text = letters >= 2 && letters > digits && !text.contains('@');
    Traits {
        texts: usize::from(is_text),
        several_words: usize::from(is_text && text.trim().contains(' ')),
        numbers: usize::from(digits > 0 && letters == 0),
        decimals: usize::from(is_decimal(text)),
        addresses: usize::from(text.contains('@')),
        long: usize::from(text.chars().count() > LONG_CHARACTERS),
        companies: usize::from(is_company(&folded)),
        sa_plates: usize::from(is_sa_plate(text)),
        person_words: stands_for(0),
        company_words: stands_for(1),
        zero_or_one: usize::from(text == "0" || text == "1"),
        file_names: usize::from(FILE_EXTENSIONS.iter().any(|extension| folded.ends_with(extension))),
        words: word.map_or(0, |at| 1 << at),
    }
}

/// Whether a text is a number with a fraction, perhaps with a currency before it.
fn is_decimal(text: &str) -> bool {
    let number = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let Some((whole, fraction)) = number.rsplit_once(['.', ',']) else { return false };
    let before = text.len() - number.len();
    let is_whole = whole.chars().all(|c| c.is_ascii_digit() || c.is_whitespace() || "., '".contains(c));
    // A group of three digits after a comma belongs to a whole number.
    let is_fraction = (1..=2).contains(&fraction.len()) || fraction.len() > 3;
    before <= 4 && is_whole && is_fraction && fraction != "0" && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the name ends in a legal form.
fn is_company(folded: &str) -> bool {
    let last = folded.split(|c: char| c.is_whitespace() || "(),".contains(c)).rfind(|word| !word.is_empty());
    let has_more = folded.split_whitespace().count() > 1;
    last.is_some_and(|word| has_more && LEGAL_FORMS.contains(&word.trim_end_matches('.')))
}

/// The endings of plates with the province.
const PROVINCES: [&str; 9] = ["GP", "MP", "NW", "NC", "EC", "FS", "L", "ZN", "WP"];
/// The beginnings of plates with a town: Western Cape and KwaZulu-Natal.
const TOWNS: [&str; 2] = ["C", "N"];

/// Whether a text has the form of a South African plate: letters and digits and a province, or a town and digits.
fn is_sa_plate(text: &str) -> bool {
    let plate = cleaned(text).to_ascii_uppercase();
    let is_form = |text: &str| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let letters = text.bytes().filter(u8::is_ascii_uppercase).count();
        digits + letters == text.len() && (1..=6).contains(&digits)
    };
    let letters = |text: &str| text.bytes().take_while(u8::is_ascii_uppercase).count();
    let with_province = PROVINCES.iter().any(|province| {
        let stem = plate.strip_suffix(province);
        stem.is_some_and(|stem| (5..=7).contains(&stem.len()) && is_form(stem) && letters(stem) >= 2)
    });
    let of_town = TOWNS.iter().any(|town| plate.starts_with(town)) && is_form(&plate) && {
        let town = letters(&plate);
        (2..=4).contains(&town) && plate.len() > town + 1 && plate[town..].bytes().all(|byte| byte.is_ascii_digit())
    };
    with_province || of_town
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plate_of_south_africa_has_one_of_its_forms() {
        for plate in ["CA 123-456", "AB 12 CD GP", "FGT 123 L", "ND 12345", "ca123456"] {
            assert_eq!(traits(plate).sa_plates, 1, "{plate}");
        }
        for other in ["159348797", "MMM", "B-MW 1234", "2015/019742/07", "CAPE TOWN", "123 GP"] {
            assert_eq!(traits(other).sa_plates, 0, "{other}");
        }
    }

    #[test]
    fn an_amount_has_a_fraction_and_a_number_of_a_workbook_has_none() {
        for amount in ["12.50", "R 1 234,56", "R1,234.5", "-3.1", "100.00", "0.1234"] {
            assert_eq!(traits(amount).decimals, 1, "{amount}");
        }
        for other in ["1001", "1001.0", "1,234", "2016/004321/07", "12-5", "a.b", "", "v1.x", "customer 1.5"] {
            assert_eq!(traits(other).decimals, 0, "{other}");
        }
    }

    #[test]
    fn a_company_has_a_legal_form_and_a_person_has_none() {
        for name in ["Ubuntu Civils (Pty) Ltd", "QUALITY CC", "Acme, Inc.", "Ltd Edition Limited"] {
            assert_eq!(traits(name).companies, 1, "{name}");
        }
        for name in ["Thandi Nkosi", "Cc", "Limited", "Inca Dlamini"] {
            assert_eq!(traits(name).companies, 0, "{name}");
        }
    }

    #[test]
    fn words_for_a_person_and_a_company_are_counted_by_their_list() {
        let mut sum = Traits::default();
        ["PERSON", "Organization", "person", "0", "Thandi"].iter().for_each(|text| sum.add(&traits(text)));
        assert_eq!((sum.person_words, sum.company_words, sum.zero_or_one), (2, 1, 1));
        assert_eq!(sum.entity_words(), [("person", 0), ("organization", 1)]);
        assert!(ENTITY_WORDS.len() <= 64, "one bit each");
    }
}
