//! Builds a spreadsheet part by part, so that a test can write files that no program would write: an archive of stored
//! or compressed parts, with the sheets as XML. The tests of spreadsheets use it too.

use flate2::{Compression, Crc, write::DeflateEncoder};
use std::io::Write;

/// Styles by their number in a cell's `s`: plain, a date, a date with a time, and elapsed hours.
const FORMS: [u8; 4] = [0, 14, 22, 46];

#[derive(Default)]
pub struct Workbook {
    sheets: Vec<(String, String)>,
    /// The names of hidden sheets.
    hidden: Vec<String>,
    shared: Vec<String>,
    is_1904: bool,
    is_compressed: bool,
    /// Parts in addition to those of the sheets, or instead of them.
    parts: Vec<(String, Vec<u8>)>,
}

impl Workbook {
    pub fn new() -> Workbook {
        Workbook::default()
    }

    /// Adds a sheet; `xml` is the content of its `worksheet`.
    pub fn sheet(mut self, name: &str, xml: &str) -> Workbook {
        self.sheets.push((name.to_owned(), xml.to_owned()));
        self
    }

    /// Hides the last sheet.
    pub fn hidden(mut self) -> Workbook {
        self.hidden.extend(self.sheets.last().map(|(name, _)| name.clone()));
        self
    }

    /// Sets the table of texts. A cell with `t="s"` refers to them by number.
    pub fn shared(mut self, texts: &[&str]) -> Workbook {
        self.shared = texts.iter().map(|text| escaped(text)).collect();
        self
    }

    pub fn in_1904(mut self) -> Workbook {
        self.is_1904 = true;
        self
    }

    pub fn compressed(mut self) -> Workbook {
        self.is_compressed = true;
        self
    }

    pub fn part(mut self, name: &str, content: &[u8]) -> Workbook {
        self.parts.push((name.to_owned(), content.to_vec()));
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let numbers = 1..=self.sheets.len();
        let of_sheets = |part: &dyn Fn(usize) -> String| numbers.clone().map(part).collect::<String>();
        let sheets = of_sheets(&|n| {
            let (name, _) = &self.sheets[n - 1];
            let state = if self.hidden.contains(name) { r#" state="hidden""# } else { "" };
            format!(r#"<sheet name="{}" sheetId="{n}"{state} r:id="rId{n}"/>"#, escaped(name))
        });
        let kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
        let related = of_sheets(&|n| {
            format!(r#"<Relationship Id="rId{n}" Type="{kind}/worksheet" Target="worksheets/sheet{n}.xml"/>"#)
        });
        let forms: String =
            FORMS.iter().map(|form| format!(r#"<xf numFmtId="{form}" applyNumberFormat="1"/>"#)).collect();
        let texts: String =
            self.shared.iter().map(|text| format!("<si><t xml:space=\"preserve\">{text}</t></si>")).collect();
        let main = r#"xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main""#;
        let of_package = "http://schemas.openxmlformats.org/package/2006";
        let mut parts: Vec<(String, Vec<u8>)> = [
            (
                "[Content_Types].xml",
                format!(r#"<Types xmlns="{of_package}/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>"#),
            ),
            (
                "_rels/.rels",
                format!(r#"<Relationships xmlns="{of_package}/relationships"><Relationship Id="rId1" Type="{kind}/officeDocument" Target="xl/workbook.xml"/></Relationships>"#),
            ),
            (
                "xl/workbook.xml",
                format!(
                    r#"<workbook {main} xmlns:r="{kind}"><workbookPr date1904="{}"/><sheets>{sheets}</sheets></workbook>"#,
                    u8::from(self.is_1904)
                ),
            ),
            (
                "xl/_rels/workbook.xml.rels",
                format!(r#"<Relationships xmlns="{of_package}/relationships">{related}</Relationships>"#),
            ),
            ("xl/styles.xml", format!("<styleSheet {main}><cellXfs count=\"4\">{forms}</cellXfs></styleSheet>")),
            (
                "xl/sharedStrings.xml",
                format!("<sst {main} uniqueCount=\"{}\">{texts}</sst>", self.shared.len()),
            ),
        ]
        .into_iter()
        .map(|(name, content)| (name.to_owned(), content.into_bytes()))
        .collect();
        for (at, (_, xml)) in self.sheets.iter().enumerate() {
            let xml = format!("<worksheet {main}>{xml}</worksheet>");
            parts.push((format!("xl/worksheets/sheet{}.xml", at + 1), xml.into_bytes()));
        }
        for (name, content) in &self.parts {
            parts.retain(|(known, _)| known != name);
            parts.push((name.clone(), content.clone()));
        }
        archive(&parts, self.is_compressed)
    }
}

/// The `sheetData` of rows, from the XML of the cells without their references. An empty text means no cell.
pub fn rows(rows: &[&[&str]]) -> String {
    let mut xml = String::from("<sheetData>");
    for (at, cells) in rows.iter().enumerate() {
        let row = at + 1;
        xml += &format!("<row r=\"{row}\">");
        for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            let column = char::from(b'A' + at as u8);
            xml += &cell.replacen("<c", &format!("<c r=\"{column}{row}\""), 1);
        }
        xml += "</row>";
    }
    xml + "</sheetData>"
}

/// A cell with a text.
pub fn text(text: &str) -> String {
    format!("<c t=\"inlineStr\"><is><t xml:space=\"preserve\">{}</t></is></c>", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// A zip archive.
pub fn archive(parts: &[(String, Vec<u8>)], is_compressed: bool) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in parts {
        let mut crc = Crc::new();
        crc.update(content);
        let mut stored = content.clone();
        if is_compressed {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(content).expect("writing to memory does not fail");
            stored = encoder.finish().expect("writing to memory does not fail");
        }
        let mut head = Vec::new();
        for short in [20_u16, 0, if is_compressed { 8 } else { 0 }, 0, 0x5a6d] {
            head.extend_from_slice(&short.to_le_bytes());
        }
        for long in [crc.sum(), stored.len() as u32, content.len() as u32] {
            head.extend_from_slice(&long.to_le_bytes());
        }
        head.extend_from_slice(&(name.len() as u16).to_le_bytes());
        head.extend_from_slice(&[0, 0]);
        let offset = archive.len() as u32;
        archive.extend_from_slice(b"PK\x03\x04");
        archive.extend_from_slice(&head);
        archive.extend_from_slice(name.as_bytes());
        archive.extend_from_slice(&stored);
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend_from_slice(&head);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&offset.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let (offset, count) = (archive.len() as u32, parts.len() as u16);
    archive.extend_from_slice(&directory);
    archive.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    archive.extend_from_slice(&count.to_le_bytes());
    archive.extend_from_slice(&count.to_le_bytes());
    archive.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    archive.extend_from_slice(&offset.to_le_bytes());
    archive.extend_from_slice(&[0, 0]);
    archive
}
