//! What is remarkable about the rows of a source as a whole, and is said once: rows of empty cells, rows that span several
//! lines, and rows that a spreadsheet program hides.

/// Counts over all rows that a reader has read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowShapes {
    /// Rows of empty cells, which are skipped, and the line of the first one.
    pub empty_rows: u64,
    pub first_empty_line: u64,
    /// Rows that span several lines, and the first and last line of the first one.
    pub spanning_rows: u64,
    pub first_span: (u64, u64),
    pub hidden: HiddenRows,
}

/// The rows of a sheet that a spreadsheet program does not show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HiddenRows {
    pub hidden: u64,
    /// Rows with data below the header, hidden or not.
    pub of: u64,
    /// The sheet has a filter.
    pub by_filter: bool,
    /// They are not read.
    pub left_out: bool,
}

impl RowShapes {
    pub(super) fn add_empty(&mut self, line: u64) {
        if self.empty_rows == 0 {
            self.first_empty_line = line;
        }
        self.empty_rows += 1;
    }

    pub(super) fn add_span(&mut self, first: u64, last: u64) {
        if self.spanning_rows == 0 {
            self.first_span = (first, last);
        }
        self.spanning_rows += 1;
    }

    /// One line for each remarkable thing about a source.
    pub fn lines(&self, source: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if self.empty_rows > 0 {
            let (count, first) = (self.empty_rows, self.first_empty_line);
            lines.push(format!("rows of empty cells, skipped: {count}, the first in line {first} of {source}"));
        }
        if self.spanning_rows > 0 {
            let (count, (first, last)) = (self.spanning_rows, self.first_span);
            lines.push(format!(
                "rows that span several lines: {count}, the first at lines {first} to {last} of {source}; check that no \
                 quote is missing"
            ));
        }
        let HiddenRows { hidden, of, by_filter, left_out } = self.hidden;
        if hidden > 0 {
            let are = if hidden == 1 { "row is" } else { "rows are" };
            let by = if by_filter { " by a filter" } else { "" };
            let then = if left_out {
                "left out, because of --visible-only"
            } else {
                "read as well; --visible-only leaves them out"
            };
            lines.push(format!("{hidden} of {of} {are} hidden{by} in {source}, and {then}"));
        }
        lines
    }
}
