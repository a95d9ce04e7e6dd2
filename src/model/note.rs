//! A note: a remark on a value that was accepted. Notes are counted and reported to the user. They are not part of any
//! key, body or output, so adding a kind of note never changes a key.

use std::fmt;

/// The closed list of notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Note {
    /// A company registration number was not written as `YYYY/NNNNNN/NN`, and is sent in that format.
    RegistrationNumberRewritten,
    /// The ISO 3779 check digit does not match. Not every market is required to use it, so the VIN is sent unchanged.
    VinCheckDigit,
    /// An identifier had spaces, hyphens or a leading apostrophe, and is sent without them.
    IdentifierCleaned,
    /// A value had invisible characters, such as a zero-width space, and is used without them.
    InvisibleDropped,
    /// A value was a text inside the formula `="…"` of a spreadsheet, and the text is used.
    FormulaUnwrapped,
    /// A value had a no-break space or another special space, which counts as an ordinary one.
    SpecialSpace,
    /// A value was not in Unicode form NFC, and is used in that form.
    Composed,
    /// A country was not written as its ISO code, and is sent as that code.
    CountryTranslated,
    /// A body with files is larger than 4,500,000 bytes, which some services refuse although each file is within its
    /// own limit.
    LargeBody,
}

impl Note {
    pub const ALL: [Note; 9] = [
        Note::RegistrationNumberRewritten,
        Note::VinCheckDigit,
        Note::IdentifierCleaned,
        Note::InvisibleDropped,
        Note::FormulaUnwrapped,
        Note::SpecialSpace,
        Note::Composed,
        Note::CountryTranslated,
        Note::LargeBody,
    ];

    /// The name used in machine-readable output.
    pub fn as_str(self) -> &'static str {
        match self {
            Note::RegistrationNumberRewritten => "registration_number_rewritten",
            Note::VinCheckDigit => "vin_check_digit",
            Note::IdentifierCleaned => "identifier_cleaned",
            Note::InvisibleDropped => "invisible_dropped",
            Note::FormulaUnwrapped => "formula_unwrapped",
            Note::SpecialSpace => "special_space",
            Note::Composed => "composed",
            Note::CountryTranslated => "country_translated",
            Note::LargeBody => "large_body",
        }
    }
}

impl fmt::Display for Note {
    /// The text for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Note::RegistrationNumberRewritten => {
                "registration number in another format, sent as YYYY/NNNNNN/NN: check that it is the right company"
            }
            Note::VinCheckDigit => {
                "VIN whose check digit does not match, sent unchanged: a typing mistake, or a market without check \
                 digits"
            }
            Note::IdentifierCleaned => "identifier with spaces, hyphens or a leading apostrophe, sent without them",
            Note::InvisibleDropped => "value with invisible characters, such as a zero-width space, used without them",
            Note::FormulaUnwrapped => "text that a spreadsheet wrote as a formula, =\"…\", used without the formula",
            Note::SpecialSpace => "value with a no-break or other special space, used as an ordinary space",
            Note::Composed => "value with accents as separate characters, used in Unicode form NFC",
            Note::CountryTranslated => {
                "country in another form than its ISO code, sent as that code: check that it is the right country"
            }
            Note::LargeBody => {
                "request of more than 4.5 MB, which some services refuse: if yours does, set [service] body_bytes_max"
            }
        })
    }
}
