//! The file of a workbook: the sheets, and the fixed parts that say what they are. Sheets were compressed before, and are
//! copied as they are.

use super::{
    cells::push_text,
    sheet::{Packed, member},
};
use crate::sink::{
    SinkError,
    new_file::{NewFile, Published},
};
use std::{
    fs::File,
    io::{self, BufWriter, Seek, Write},
    path::Path,
};
use zip::{ZipArchive, ZipWriter};

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml";

/// The looks of cells, in the order of [`super::cells::Look`]. Format 49 is text, and 1 a whole number.
const STYLES: &str = "<numFmts count=\"2\"><numFmt numFmtId=\"164\" formatCode=\"yyyy\\-mm\\-dd\"/>\
    <numFmt numFmtId=\"165\" formatCode=\"yyyy\\-mm\\-dd\\ hh:mm:ss\"/></numFmts>\
    <fonts count=\"2\"><font><sz val=\"11\"/><name val=\"Calibri\"/><family val=\"2\"/></font>\
    <font><b/><sz val=\"11\"/><name val=\"Calibri\"/><family val=\"2\"/></font></fonts>\
    <fills count=\"2\"><fill><patternFill patternType=\"none\"/></fill>\
    <fill><patternFill patternType=\"gray125\"/></fill></fills>\
    <borders count=\"1\"><border><left/><right/><top/><bottom/><diagonal/></border></borders>\
    <cellStyleXfs count=\"1\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\"/></cellStyleXfs>\
    <cellXfs count=\"6\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\"/>\
    <xf numFmtId=\"49\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\"/>\
    <xf numFmtId=\"1\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\"/>\
    <xf numFmtId=\"164\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\"/>\
    <xf numFmtId=\"165\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\"/>\
    <xf numFmtId=\"49\" fontId=\"1\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\" applyFont=\"1\"/>\
    </cellXfs><cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" builtinId=\"0\"/></cellStyles>";

/// Puts the sheets together, in their order, in an unnamed temporary file.
pub fn put_together(sheets: Vec<Packed>, folder: &Path) -> io::Result<File> {
    let mut zip = ZipWriter::new(BufWriter::with_capacity(64 << 10, tempfile::tempfile_in(folder)?));
    for (name, text) in fixed_parts(&sheets) {
        zip.start_file(name, member())?;
        zip.write_all(text.as_bytes())?;
    }
    for (number, sheet) in (1..).zip(sheets) {
        let mut archive = ZipArchive::new(sheet.archive)?;
        zip.raw_copy_file_rename(archive.by_index_raw(0)?, format!("xl/worksheets/sheet{number}.xml"))?;
    }
    zip.finish()?.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Gives the file its name.
pub fn publish(mut whole: File, path: &Path) -> Result<Published, SinkError> {
    let failed = |fault| SinkError::Storage { path: path.to_owned(), step: "writing", fault };
    let mut file = NewFile::create_new(path)?;
    whole.rewind().and_then(|()| io::copy(&mut whole, &mut file)).map_err(failed)?;
    file.publish()
}

/// The parts that are not sheets, by name.
fn fixed_parts(sheets: &[Packed]) -> [(&'static str, String); 5] {
    let (mut types, mut relations) = (String::new(), String::new());
    let (mut listed, mut filters) = (Vec::new(), Vec::new());
    for (number, sheet) in (1..).zip(sheets) {
        types.push_str(&format!(
            "<Override PartName=\"/xl/worksheets/sheet{number}.xml\" ContentType=\"{TYPE}.worksheet+xml\"/>"
        ));
        relations.push_str(&format!(
            "<Relationship Id=\"rId{number}\" Type=\"{RELATIONS}/worksheet\" Target=\"worksheets/sheet{number}.xml\"/>"
        ));
        listed.extend_from_slice(b"<sheet name=\"");
        push_text(&mut listed, &sheet.name);
        listed.extend_from_slice(format!("\" sheetId=\"{number}\" r:id=\"rId{number}\"/>").as_bytes());
        if let Some(filtered) = &sheet.filtered {
            let place = number - 1;
            let name = sheet.name.replace('\'', "''");
            let begin = format!("<definedName name=\"_xlnm._FilterDatabase\" localSheetId=\"{place}\" hidden=\"1\">'");
            filters.extend_from_slice(begin.as_bytes());
            push_text(&mut filters, &name);
            filters.extend_from_slice(format!("'!{filtered}</definedName>").as_bytes());
        }
    }
    let styles_id = sheets.len() + 1;
    let listed = String::from_utf8_lossy(&listed);
    let mut names = String::from_utf8_lossy(&filters).into_owned();
    if !names.is_empty() {
        names = format!("<definedNames>{names}</definedNames>");
    }
    [
        (
            "[Content_Types].xml",
            format!(
                "{XML}<Types xmlns=\"{PACKAGE}/content-types\">\
                 <Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
                 <Default Extension=\"xml\" ContentType=\"application/xml\"/>\
                 <Override PartName=\"/xl/workbook.xml\" ContentType=\"{TYPE}.sheet.main+xml\"/>\
                 <Override PartName=\"/xl/styles.xml\" ContentType=\"{TYPE}.styles+xml\"/>{types}</Types>"
            ),
        ),
        (
            "_rels/.rels",
            format!(
                "{XML}<Relationships xmlns=\"{PACKAGE}/relationships\"><Relationship Id=\"rId1\" \
                 Type=\"{RELATIONS}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/workbook.xml",
            format!(
                "{XML}<workbook xmlns=\"{MAIN}\" xmlns:r=\"{RELATIONS}\"><bookViews><workbookView/></bookViews>\
                 <sheets>{listed}</sheets>{names}</workbook>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            format!(
                "{XML}<Relationships xmlns=\"{PACKAGE}/relationships\">{relations}<Relationship Id=\"rId{styles_id}\" \
                 Type=\"{RELATIONS}/styles\" Target=\"styles.xml\"/></Relationships>"
            ),
        ),
        ("xl/styles.xml", format!("{XML}<styleSheet xmlns=\"{MAIN}\">{STYLES}</styleSheet>")),
    ]
}
