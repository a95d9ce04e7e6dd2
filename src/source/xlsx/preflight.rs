//! Limits on the contents of a spreadsheet, checked before calamine opens it, because calamine trusts what the file
//! says about itself and keeps all of its texts and styles in memory.
//!
//! Only the parts that calamine opens are read here: the lists of parts (.rels), the texts, the styles, and what the
//! lists name as workbook or sheet. They are read with the XML parser that calamine uses, so that comments and
//! alternative spellings mean the same to both. Sheets are read cell by cell and may be long. From the other parts
//! calamine keeps, at worst, about half a gibibyte of texts ([`TEXT_BYTES_MAX`] in [`TEXTS_MAX`] texts, with 60 bytes
//! of overhead each) and 200 MiB of styles ([`FORMATS_MAX`] formats, each with a name and a format code of
//! [`STYLE_TAG_BYTES_MAX`]).

use super::fault::SheetFault;
use crate::{
    model::cell_ref::{is_cell_ref, is_range_ref},
    source::bytes::compression::is_too_dense,
};
use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};
use std::{
    borrow::Cow,
    collections::HashSet,
    fs::File,
    io::{self, BufReader, Read, Seek},
};
use zip::ZipArchive;

/// Maximum bytes of the table of texts, including its tags.
const TEXT_BYTES_MAX: u64 = 256 << 20;
const TEXTS_MAX: u64 = 4 << 20;
/// Maximum bytes of one cell, one shared string or one piece of XML: enough for a row of 16 MiB and its tags.
const UNIT_BYTES_MAX: u64 = 17 << 20;
/// Maximum bytes of the styles, of the workbook or of a list of parts.
const FRAME_BYTES_MAX: u64 = 32 << 20;
/// Maximum bytes of one tag of the workbook or of a list: a sheet repeats the name of its part.
const FRAME_TAG_BYTES_MAX: u64 = 16 << 10;
/// Maximum bytes of one tag of the styles: each format repeats its font and its format code, of up to 255 characters.
const STYLE_TAG_BYTES_MAX: u64 = 1 << 10;
const STYLE_TAGS_MAX: u64 = 1 << 20;
/// Maximum cell formats: Excel allows 65,490.
const FORMATS_MAX: u64 = 1 << 16;
const SHEETS_MAX: u64 = 4_096;
const MERGES_MAX: u64 = 1 << 20;
/// Maximum nesting depth of tags.
const DEPTH_MAX: u64 = 256;

/// What calamine uses a part for. One part may have several roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    List,
    Workbook,
    Texts,
    Styles,
    Sheet,
}

/// The file names of the parts that the lists name as workbook and as sheets.
#[derive(Default)]
struct Named {
    workbooks: HashSet<String>,
    sheets: HashSet<String>,
}

/// Refuses a spreadsheet that calamine must not open.
pub fn check(file: &mut File) -> Result<(), SheetFault> {
    let compressed_bytes = file.metadata().map_err(SheetFault::Io)?.len();
    let mut archive = ZipArchive::new(BufReader::new(&mut *file))?;
    let (mut named, mut bytes) = (Named::default(), 0);
    named.workbooks.insert("workbook.xml".to_owned());
    for turn in [Turn::Package, Turn::Workbook, Turn::Named] {
        for at in 0..archive.len() {
            let part = archive.by_index(at)?;
            let (roles, its_turn) = roles(&part.name()?, &named);
            if roles.is_empty() || its_turn != turn {
                continue;
            }
            let metered = Metered { part, compressed_bytes, bytes, since_event: 0, fault: None };
            bytes = Measure::new(&roles, &mut named).part(metered)?;
        }
    }
    drop(archive);
    file.rewind().map_err(SheetFault::Io)
}

/// The file name of a part, in lower case. calamine finds parts case-insensitively and accepts either slash; here a
/// matching file name is enough.
fn last_name(name: &str) -> String {
    name.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase()
}

/// When a part is read: after the parts that name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// The list of the archive, which names the workbook.
    Package,
    /// The list of the workbook, which names its sheets.
    Workbook,
    Named,
}

/// The roles of a part; empty for one that calamine never opens, such as a picture, a pivot cache or the links of a
/// sheet.
fn roles(name: &str, named: &Named) -> (Vec<Role>, Turn) {
    let name = last_name(name);
    let turn = match name.strip_suffix(".rels") {
        Some("") => Turn::Package,
        Some(workbook) if named.workbooks.contains(workbook) => Turn::Workbook,
        _ => Turn::Named,
    };
    let all = [
        (Role::List, turn != Turn::Named),
        (Role::Workbook, named.workbooks.contains(&name)),
        (Role::Texts, name == "sharedstrings.xml"),
        (Role::Styles, name == "styles.xml" || name == "theme1.xml"),
        (Role::Sheet, named.sheets.contains(&name)),
    ];
    (all.into_iter().filter_map(|(role, is_one)| is_one.then_some(role)).collect(), turn)
}

/// A part, measured while it is decompressed, because the size stated in the archive may be wrong.
struct Metered<R> {
    part: R,
    compressed_bytes: u64,
    /// Bytes of this part and all parts before it.
    bytes: u64,
    since_event: u64,
    /// Why reading was stopped.
    fault: Option<SheetFault>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.part.read(buffer)?;
        self.bytes += count as u64;
        self.since_event += count as u64;
        if is_too_dense(self.bytes, self.compressed_bytes) {
            self.fault = Some(SheetFault::TooDense);
        } else if self.since_event > UNIT_BYTES_MAX {
            self.fault = Some(too_much("bytes of one cell", UNIT_BYTES_MAX));
        }
        if self.fault.is_some() { Err(io::Error::other("stopped")) } else { Ok(count) }
    }
}

fn too_much(what: &'static str, max: u64) -> SheetFault {
    SheetFault::TooMuch { what, max }
}

fn at_most(count: u64, what: &'static str, max: u64) -> Result<(), SheetFault> {
    if count > max { Err(too_much(what, max)) } else { Ok(()) }
}

const NO_INDEX: SheetFault = SheetFault::Damaged { what: "content (a cell with an invalid shared-string index)" };
const INVALID_REFERENCE: SheetFault = SheetFault::Damaged {
    what: "content (an invalid reference to a cell, a row or a \
     range)",
};
const DAMAGED: SheetFault = SheetFault::Damaged { what: "content" };

/// The counts of one part.
struct Measure<'a> {
    roles: &'a [Role],
    named: &'a mut Named,
    tags: u64,
    texts: u64,
    sheets: u64,
    merges: u64,
    formats: u64,
    is_in_formats: bool,
    depth: u64,
    /// The current cell or text: its depth, and where it began.
    unit: Option<(u64, u64)>,
    /// The current cell refers to its text by number.
    names_text: bool,
    /// The next text is that number.
    is_index: bool,
}

impl<'a> Measure<'a> {
    fn new(roles: &'a [Role], named: &'a mut Named) -> Measure<'a> {
        let (tags, texts, sheets, merges, formats, depth) = (0, 0, 0, 0, 0, 0);
        Measure {
            roles,
            named,
            tags,
            texts,
            sheets,
            merges,
            formats,
            is_in_formats: false,
            depth,
            unit: None,
            names_text: false,
            is_index: false,
        }
    }

    fn is(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// Reads a part to its end. Returns the bytes of it and all parts before it.
    fn part<R: Read>(mut self, metered: Metered<R>) -> Result<u64, SheetFault> {
        let mut xml = Reader::from_reader(BufReader::with_capacity(64 << 10, metered));
        let config = xml.config_mut();
        // Configured as in calamine, except that end tags must match, so that the nesting is reliable.
        config.expand_empty_elements = true;
        config.check_end_names = true;
        let bytes_max = match () {
            () if self.roles.iter().any(|role| matches!(role, Role::List | Role::Workbook | Role::Styles)) => {
                Some(FRAME_BYTES_MAX)
            }
            () if self.is(Role::Texts) => Some(TEXT_BYTES_MAX),
            () => None,
        };
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            let event = match xml.read_event_into(&mut buffer) {
                Ok(event) => event,
                Err(_) => return Err(xml.get_mut().get_mut().fault.take().unwrap_or(DAMAGED)),
            };
            let is_end = matches!(event, Event::Eof);
            let ended = matches!(event, Event::End(_));
            self.is_index &= !ended;
            match &event {
                Event::Start(start) => self.start(start)?,
                Event::Text(text) if self.is_index && !is_index(text) => return Err(NO_INDEX),
                Event::GeneralRef(_) | Event::CData(_) | Event::Comment(_) | Event::PI(_) if self.is_index => {
                    return Err(NO_INDEX);
                }
                _ => {}
            }
            drop(event);
            let at = xml.buffer_position();
            if ended {
                self.depth = self.depth.saturating_sub(1);
            }
            match self.unit {
                Some((_, u64::MAX)) => self.unit = Some((self.depth, at)),
                Some((_, from)) if at - from > UNIT_BYTES_MAX => {
                    return Err(too_much("bytes of one cell", UNIT_BYTES_MAX));
                }
                Some((depth, _)) if self.depth < depth => self.unit = None,
                _ => {}
            }
            if let Some(max) = bytes_max {
                at_most(at, "bytes of shared strings, styles or names", max)?;
            }
            let metered = xml.get_mut().get_mut();
            metered.since_event = 0;
            if is_end {
                return Ok(metered.bytes);
            }
        }
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), SheetFault> {
        let (tag_bytes, local_name) = (start.len() as u64, start.local_name());
        let name: &str = local_name.as_ref();
        self.depth += 1;
        self.tags += 1;
        if self.depth > DEPTH_MAX {
            return Err(DAMAGED);
        }
        let is_unit = (self.is(Role::Sheet) && name == "c") || (self.is(Role::Texts) && name == "si");
        if is_unit {
            // Valid files never nest them, and a nested one would hide where the outer one began.
            if self.unit.is_some() {
                return Err(DAMAGED);
            }
            self.unit = Some((self.depth, u64::MAX));
            self.names_text = false;
        }
        let has_reference = self.is(Role::Sheet) && matches!(name, "c" | "row" | "dimension" | "mergeCell");
        if is_unit || has_reference {
            for (key, value) in attributes(start) {
                if has_reference && !is_valid_reference(key, &value) {
                    return Err(INVALID_REFERENCE);
                }
                self.names_text |= is_unit && key == "t" && value == "s";
            }
        }
        self.is_index = self.is(Role::Sheet) && self.unit.is_some() && self.names_text && name == "v";
        if self.is(Role::Texts) {
            self.texts += u64::from(name == "si");
            let claimed = if name == "sst" { texts_claimed(start.attributes_raw()) } else { 0 };
            at_most(self.texts.max(claimed), "shared strings", TEXTS_MAX)?;
        }
        if self.is(Role::Sheet) {
            self.merges += u64::from(name == "mergeCell");
            at_most(self.merges, "merged cells", MERGES_MAX)?;
        }
        if self.is(Role::Workbook) {
            self.sheets += u64::from(name == "sheet");
            at_most(self.sheets, "sheets", SHEETS_MAX)?;
        }
        if self.is(Role::Workbook) || self.is(Role::List) {
            at_most(tag_bytes, "bytes of one tag", FRAME_TAG_BYTES_MAX)?;
        }
        if self.is(Role::Styles) {
            self.is_in_formats |= name == "cellXfs";
            self.formats += u64::from(self.is_in_formats && name == "xf");
            at_most(self.formats, "cell formats", FORMATS_MAX)?;
            at_most(self.tags, "tags of styles", STYLE_TAGS_MAX)?;
            let max = if self.depth == 1 { FRAME_TAG_BYTES_MAX } else { STYLE_TAG_BYTES_MAX };
            at_most(tag_bytes, "bytes of one tag of the styles", max)?;
        }
        if self.is(Role::List) && name == "Relationship" { self.relationship(start) } else { Ok(()) }
    }

    /// Records what a list names as the workbook or as a sheet.
    fn relationship(&mut self, start: &BytesStart<'_>) -> Result<(), SheetFault> {
        let (mut is_workbook, mut is_sheet, mut targets) = (false, false, Vec::new());
        for attribute in start.attributes().with_checks(false) {
            let attribute = attribute.map_err(|_| DAMAGED)?;
            let value: &str = attribute.value.as_ref();
            match attribute.key.as_ref() {
                "Type" => {
                    is_workbook |= value.ends_with("/officeDocument");
                    is_sheet |= value.ends_with("sheet");
                }
                "Target" => {
                    targets.push(last_name(value));
                    // calamine decodes `&amp;` in one kind of list and not in the other.
                    if let Ok(value) = quick_xml::escape::unescape(value) {
                        targets.push(last_name(&value));
                    }
                }
                _ => {}
            }
        }
        if is_workbook {
            self.named.workbooks.extend(targets.iter().cloned());
        }
        if is_sheet {
            self.named.sheets.extend(targets);
        }
        Ok(())
    }
}

/// Keys and values as written. They end at an invalid attribute, which is left for calamine to refuse.
fn attributes<'a>(start: &'a BytesStart<'_>) -> impl Iterator<Item = (&'a str, Cow<'a, str>)> {
    let mut attributes = start.attributes();
    attributes.with_checks(false);
    attributes.map_while(Result::ok).map(|one| (one.key.0, one.value))
}

/// Whether an attribute of a cell, a row or a range is a valid reference, if it has to be one.
fn is_valid_reference(key: &str, value: &str) -> bool {
    match key {
        "r" => is_cell_ref(value),
        "ref" => is_range_ref(value),
        _ => true,
    }
}

/// Whether this is a valid text number. calamine uses the first text for an invalid one.
fn is_index(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<usize>().is_ok()
}

/// The number of texts that the table states. calamine allocates memory for that many before it reads one.
fn texts_claimed(attributes: &str) -> u64 {
    let number = |rest: &str| {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || "=\"'".contains(c));
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        // A number of more than 20 digits is invalid for calamine too, and is refused here.
        if end == 0 { 0 } else { rest[..end].parse().unwrap_or(u64::MAX) }
    };
    attributes.split("uniqueCount").skip(1).map(number).max().unwrap_or(0)
}

#[cfg(test)]
#[path = "preflight_tests.rs"]
mod tests;
