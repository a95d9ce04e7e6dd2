//! Why a workbook cannot be read.

use crate::{model::nearest::hint, source::RATIO_MAX};
use calamine::XlsxError;
use std::io;
use zip::result::ZipError;

/// Why a spreadsheet, or the rest of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SheetFault {
    #[error("expected a spreadsheet without a password, found one with a password; save a copy without it")]
    Password,
    #[error("expected a spreadsheet (.xlsx), found a zip archive of another kind; {}", "save it as .xlsx or as CSV")]
    OtherArchive,
    #[error(
        "expected an intact spreadsheet (.xlsx), found one whose {what} is damaged; open it in a spreadsheet program \
         and save it again"
    )]
    Damaged { what: &'static str },
    #[error(
        "row {row} of the sheet: expected cells in order, found one that is out of order; save the spreadsheet again"
    )]
    OutOfOrder { row: u32 },
    #[error(
        "expected at most {RATIO_MAX} decompressed bytes for each byte of the spreadsheet, found more; save it as CSV"
    )]
    TooDense,
    #[error("expected at most {max} {what} in a spreadsheet, found more; save it as CSV")]
    TooMuch { what: &'static str, max: u64 },
    #[error("expected a sheet with data, found none; check that this is the right file and sheet")]
    NoData,
    #[error(
        "expected one sheet with data, found {} ({}); name one with --sheet NAME (or [input] sheet)", .names.len(), .names.join(", "))]
    ManySheets { names: Vec<String> },
    #[error("expected the sheet `{wanted}`, found {}{}", .names.join(", "), hint(.wanted, .names.iter().map(String::as_str)))]
    UnknownSheet { wanted: String, names: Vec<String> },
    #[error(
        "expected a sheet with data from row {row} on, found none; correct --header-row or --skip-rows (or [input] \
         header_row, skip_rows)"
    )]
    NoDataBelow { row: u32 },
    #[error("sheet `{sheet}`: expected no merged cells in the data, found {range} merged; {advice}")]
    Merged { sheet: String, range: String, advice: &'static str },
    #[error("reading the spreadsheet failed: {0}")]
    Io(io::Error),
    #[error("reading the spreadsheet failed unexpectedly; save it as CSV, and report this: it is a bug in rescreen")]
    BrokeOff,
}

impl From<XlsxError> for SheetFault {
    /// Only the kind of the error is used, because calamine's message may repeat a value.
    fn from(fault: XlsxError) -> SheetFault {
        match fault {
            XlsxError::Io(fault) | XlsxError::Zip(ZipError::Io(fault)) => SheetFault::Io(fault),
            XlsxError::Password => SheetFault::Password,
            XlsxError::Zip(_) => SheetFault::Damaged { what: "archive" },
            XlsxError::FileNotFound(_) | XlsxError::RelationshipNotFound => SheetFault::OtherArchive,
            _ => SheetFault::Damaged { what: "content" },
        }
    }
}

impl From<ZipError> for SheetFault {
    fn from(fault: ZipError) -> SheetFault {
        XlsxError::Zip(fault).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_calamine_repeats_no_value() {
        let fault = XlsxError::Unrecognized { typ: "boolean cell value", val: "Thandi".to_owned() };
        assert!(!SheetFault::from(fault).to_string().contains("Thandi"));
    }
}
