//! A note: something to say about a value that was accepted. Notes are counted and told to whoever feeds the columns; they
//! are in no key, no body and no output, so that a new kind of note can never move a key.

use std::fmt;

/// The closed list of notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Note {
    /// A company's number was typed in another form than `YYYY/NNNNNN/NN`, and is sent in this one.
    RegistrationNumberRewritten,
    /// The check digit of ISO 3779 does not fit. Not every market has the duty to use it, so the VIN is sent as it is.
    VinCheckDigit,
}

impl Note {
    pub const ALL: [Note; 2] = [Note::RegistrationNumberRewritten, Note::VinCheckDigit];

    /// The word for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Note::RegistrationNumberRewritten => "registration_number_rewritten",
            Note::VinCheckDigit => "vin_check_digit",
        }
    }
}

impl fmt::Display for Note {
    /// What a person reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Note::RegistrationNumberRewritten => {
                "registration number typed in another form, sent as YYYY/NNNNNN/NN: look whether it is the one that is meant"
            }
            Note::VinCheckDigit => {
                "VIN whose check digit does not fit, sent as it is: a typing mistake, or a market without check digits"
            }
        })
    }
}
