//! The layout of the input as lines of a campaign file. Only what differs from what a run detects by itself is a setting.

use crate::{
    pipeline::wording::counted,
    source::{
        HeaderLine, SourceOptions,
        sample::{HeaderGuess, Sample},
    },
};

/// A line about the layout: why, and the setting, if one is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutLine {
    pub why: String,
    pub setting: Option<(&'static str, String)>,
}

/// The lines about the layout of a sample. `other_sheets` are the sheets that were not chosen.
pub fn layout_lines(sample: &Sample, other_sheets: &[String]) -> Vec<LayoutLine> {
    let options = &sample.options;
    let mut lines = Vec::new();
    let mut add = |why: String, setting| lines.push(LayoutLine { why, setting });
    if let Some(sheet) = options.sheet.as_ref().filter(|_| !other_sheets.is_empty()) {
        let why = format!(
            "The sheet whose columns fit the checks best. The workbook has {} more with data.",
            counted(other_sheets.len() as u64, "sheet", "sheets")
        );
        add(why, Some(("sheet", crate::model::toml_text::toml_text(sheet))));
    } else if let Some(sheet) = &options.sheet {
        add("The sheet that you named.".to_owned(), Some(("sheet", crate::model::toml_text::toml_text(sheet))));
    }
    if let Some(encoding) = options.encoding {
        add("The text is not UTF-8.".to_owned(), Some(("encoding", format!("\"{encoding}\""))));
    }
    if let Some(delimiter) = options.delimiter {
        let character = char::from(delimiter);
        let text = crate::model::toml_text::toml_text(&character.to_string());
        add("Most lines have this character between the same number of cells.".to_owned(), Some(("delimiter", text)));
    }
    header_line(sample, &mut add);
    if options.skip_footer > 0 {
        let why =
            format!("The last {} no data, such as a total.", counted(options.skip_footer as u64, "row is", "rows are"));
        add(why, Some(("skip_footer", options.skip_footer.to_string())));
    }
    lines
}

fn header_line(sample: &Sample, add: &mut impl FnMut(String, Option<(&'static str, String)>)) {
    let SourceOptions { skip_lines, header, .. } = &sample.options;
    if *header == HeaderLine::Missing {
        add(
            "The first line looks like a row, not like names of columns. `columns = [\"…\"]` names them.".to_owned(),
            Some(("header", "false".to_owned())),
        );
        if *skip_lines > 0 {
            add("The lines above the table are not read.".to_owned(), Some(("skip_rows", skip_lines.to_string())));
        }
    } else if *skip_lines > 0 {
        add(
            format!(
                "The {} above the names of the columns are not read.",
                counted(u64::from(*skip_lines), "line", "lines")
            ),
            Some(("header_row", (skip_lines + 1).to_string())),
        );
    } else if sample.header.is_some() && sample.found.header == HeaderGuess::Undecided {
        add(
            "The first line is read as names of columns, but nothing shows that it has them. If it is a row, write \
             header = false."
                .to_owned(),
            None,
        );
    }
}

/// One line about the input for the screen.
pub fn summary(name: &str, sample: &Sample, rows: usize) -> String {
    let what = match (&sample.header, sample.found.delimiter) {
        (None, _) => "JSON Lines".to_owned(),
        (Some(header), Some(delimiter)) => {
            let delimiter = match delimiter {
                b',' => "commas".to_owned(),
                b';' => "semicolons".to_owned(),
                b'\t' => "tabs".to_owned(),
                b'|' => "vertical bars".to_owned(),
                other => format!("`{}`", char::from(other)),
            };
            format!("CSV with {delimiter}, {}", counted(header.len() as u64, "column", "columns"))
        }
        (Some(header), None) => format!("a workbook, {}", counted(header.len() as u64, "column", "columns")),
    };
    let encoding = sample.options.encoding.map(|encoding| format!(", {encoding}")).unwrap_or_default();
    let header = match (&sample.header, &sample.options.header) {
        (None, _) => String::new(),
        (_, HeaderLine::Missing) => ", no header".to_owned(),
        (_, _) if sample.found.header == HeaderGuess::Undecided => ", perhaps a header in line 1".to_owned(),
        _ => format!(", the header in line {}", sample.options.skip_lines + 1),
    };
    let damaged = if sample.damaged > 0 {
        format!(", {} of the sample cannot be read", counted(sample.damaged as u64, "record", "records"))
    } else {
        String::new()
    };
    let sheet = sample.options.sheet.as_ref().map(|sheet| format!(", sheet `{sheet}`")).unwrap_or_default();
    format!("{name}: {what}{sheet}{encoding}{header}; {}{damaged}", sampled(rows, sample.is_whole))
}

/// How much was sampled.
pub fn sampled(rows: usize, is_whole: bool) -> String {
    if is_whole {
        format!("all {} read", counted(rows as u64, "row was", "rows were"))
    } else {
        format!("a sample of {} read", counted(rows as u64, "row was", "rows was"))
    }
}
