//! Which rows of a sheet a spreadsheet program does not show: calamine does not say. A row is hidden by its attribute,
//! which filters, collapsed outlines and people set alike, or by a height of zero. (A default height of zero, `zeroHeight`,
//! is for rows that are not in the file.)

use super::fault::SheetFault;
use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};
use std::{
    fs::File,
    io::{BufReader, Read, Seek},
};
use zip::ZipArchive;

const NOT_FOUND: SheetFault = SheetFault::Damaged { what: "list of sheets" };

/// The hidden rows of a sheet, from 0.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hidden {
    /// The first and last row of each run of hidden rows, in order.
    runs: Vec<(u32, u32)>,
    pub has_filter: bool,
}

impl Hidden {
    /// Reads the rows of the sheet with this name. The file is one that `preflight` has accepted.
    pub fn of(file: &mut File, sheet: &str) -> Result<Hidden, SheetFault> {
        file.rewind().map_err(SheetFault::Io)?;
        let mut archive = ZipArchive::new(BufReader::new(&mut *file))?;
        let workbook = target(&mut archive, "_rels/.rels", "", |tag| {
            value(tag, "Type").is_some_and(|kind| kind.ends_with("/officeDocument"))
        })?;
        let mut id = None;
        tags(&mut archive, &workbook, |tag| {
            if tag.local_name().as_ref() == "sheet" && value(tag, "name").as_deref() == Some(sheet) {
                id = value(tag, "id");
            }
        })?;
        let id = id.ok_or(NOT_FOUND)?;
        let (folder, name) = workbook.rsplit_once('/').unwrap_or(("", &workbook));
        let list = joined(folder, &format!("_rels/{name}.rels"));
        let part = target(&mut archive, &list, folder, |tag| value(tag, "Id").as_deref() == Some(&id))?;
        let (mut hidden, mut next) = (Hidden::default(), 0);
        tags(&mut archive, &part, |tag| hidden.add(tag, &mut next))?;
        hidden.runs.sort_unstable();
        Ok(hidden)
    }

    fn add(&mut self, tag: &BytesStart<'_>, next: &mut u32) {
        match tag.local_name().as_ref() {
            "autoFilter" => self.has_filter = true,
            "row" => {
                let row = value(tag, "r").and_then(|r| r.parse::<u32>().ok()?.checked_sub(1)).unwrap_or(*next);
                *next = row.saturating_add(1);
                let is_hidden = value(tag, "hidden").is_some_and(|text| matches!(text.as_str(), "1" | "true" | "on"));
                let is_flat = value(tag, "ht").and_then(|height| height.parse::<f64>().ok()) == Some(0.0);
                if !is_hidden && !is_flat {
                    return;
                }
                match self.runs.last_mut() {
                    Some((_, last)) if last.checked_add(1) == Some(row) => *last = row,
                    _ => self.runs.push((row, row)),
                }
            }
            _ => {}
        }
    }

    /// Whether a row is hidden.
    pub fn has(&self, row: u32) -> bool {
        let behind = self.runs.partition_point(|(first, _)| *first <= row);
        behind.checked_sub(1).and_then(|at| self.runs.get(at)).is_some_and(|(_, last)| row <= *last)
    }
}

/// The part that the first fitting tag of a list names.
fn target<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    list: &str,
    folder: &str,
    fits: impl Fn(&BytesStart<'_>) -> bool,
) -> Result<String, SheetFault> {
    let mut found = None;
    tags(archive, list, |tag| {
        if found.is_none() && fits(tag) {
            found = value(tag, "Target");
        }
    })?;
    let target = found.ok_or(NOT_FOUND)?;
    Ok(target.strip_prefix('/').map_or_else(|| joined(folder, &target), str::to_owned))
}

/// A path relative to a folder of the archive.
fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The value of an attribute, whatever its prefix.
fn value(tag: &BytesStart<'_>, key: &str) -> Option<String> {
    let mut attributes = tag.attributes();
    let found = attributes.with_checks(false).flatten().find(|attribute| attribute.key.local_name().as_ref() == key)?;
    quick_xml::escape::unescape(found.value.as_ref()).ok().map(|text| text.into_owned())
}

/// Reads the tags of a part. Names of parts are case-insensitive.
fn tags<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    name: &str,
    mut visit: impl FnMut(&BytesStart<'_>),
) -> Result<(), SheetFault> {
    let plain = |name: &str| name.replace('\\', "/").to_lowercase();
    let found = archive.file_names().position(|one| one.is_ok_and(|one| plain(&one) == plain(name)));
    let part = archive.by_index(found.ok_or(NOT_FOUND)?)?;
    let mut xml = Reader::from_reader(BufReader::with_capacity(64 << 10, part));
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match xml.read_event_into(&mut buffer) {
            Ok(Event::Start(tag) | Event::Empty(tag)) => visit(&tag),
            Ok(Event::Eof) => return Ok(()),
            Ok(_) => {}
            Err(_) => return Err(SheetFault::Damaged { what: "content" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_hidden_by_attribute_or_by_a_height_of_zero() {
        let sheet = r#"<worksheet><sheetData><row r="1"/><row r="2" hidden="1"/><row hidden="true"/><row r="5" ht="0"
            customHeight="1"/><row r="6" ht="15" outlineLevel="1" hidden="0"/><row r="9" hidden="1" outlineLevel="2"/>
            </sheetData><autoFilter ref="A1:B9"/></worksheet>"#;
        let (mut hidden, mut next) = (Hidden::default(), 0);
        let mut xml = Reader::from_str(sheet);
        while let Ok(event) = xml.read_event() {
            match event {
                Event::Start(tag) | Event::Empty(tag) => hidden.add(&tag, &mut next),
                Event::Eof => break,
                _ => {}
            }
        }
        let rows: Vec<u32> = (0..12).filter(|row| hidden.has(*row)).collect();
        assert_eq!(rows, [1, 2, 4, 8]);
        assert!(hidden.has_filter);
    }

    #[test]
    fn targets_are_relative_to_the_folder_of_their_part() {
        assert_eq!(joined("xl", "worksheets/sheet1.xml"), "xl/worksheets/sheet1.xml");
        assert_eq!(joined("xl", "../other/./sheet.xml"), "other/sheet.xml");
        assert_eq!(joined("", "_rels/.rels"), "_rels/.rels");
    }
}
