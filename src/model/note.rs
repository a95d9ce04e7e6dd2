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
}

impl Note {
    pub const ALL: [Note; 2] = [Note::RegistrationNumberRewritten, Note::VinCheckDigit];

    /// The name used in machine-readable output.
    pub fn as_str(self) -> &'static str {
        match self {
            Note::RegistrationNumberRewritten => "registration_number_rewritten",
            Note::VinCheckDigit => "vin_check_digit",
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
        })
    }
}
