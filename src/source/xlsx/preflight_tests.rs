//! The limits of a part, given as XML.

use super::*;

fn measured(roles: &[Role], xml: &[&str]) -> Result<u64, String> {
    let xml = xml.concat();
    let metered = Metered {
        part: io::Cursor::new(xml.as_bytes()),
        compressed_bytes: xml.len() as u64,
        bytes: 0,
        since_event: 0,
        fault: None,
    };
    Measure::new(roles, &mut Named::default()).part(metered).map_err(|fault| fault.to_string())
}

fn is_too_much(roles: &[Role], xml: &[&str], what: &str) {
    let message = measured(roles, xml).unwrap_err();
    assert!(message.contains(what) && message.contains("found more"), "{message}");
}

#[test]
fn a_claim_is_found_however_it_is_written() {
    let spaces = " ".repeat(70);
    let far = format!("<sst uniqueCount{spaces}=\"99999999999999\"><si/></sst>");
    for claim in [
        far.as_str(),
        "<sst count=\"9\" uniqueCount = '4194305'><si/></sst>",
        "<x:sst uniqueCount=\"0000000000000000000000004194305\"></x:sst>",
        "<sst uniqueCount=\"99999999999999999999999\"/>",
    ] {
        is_too_much(&[Role::Texts], &[claim], "4194304 shared strings");
    }
    for fine in ["<sst uniqueCount=\"4194304\"/>", "<sst/>", "<sst><si><t>uniqueCount 99999999999</t></si></sst>"] {
        assert!(measured(&[Role::Texts], &[fine]).is_ok(), "{fine}");
    }
}

#[test]
fn texts_merged_cells_formats_and_sheets_are_limited_in_number() {
    for (role, before, tag, max, after, what) in [
        (Role::Texts, "<sst>", "<x:si/>", TEXTS_MAX, "</sst>", "shared strings"),
        (Role::Sheet, "<a>", "<mergeCell/>", MERGES_MAX, "</a>", "merged cells"),
        (Role::Styles, "<a><xf/><cellXfs>", "<xf/>", FORMATS_MAX, "</cellXfs></a>", "cell formats"),
        (Role::Workbook, "<a>", "<sheet/>", SHEETS_MAX, "</a>", "sheets"),
    ] {
        let most = tag.repeat(max as usize);
        assert!(measured(&[role], &[before, &most, after]).is_ok(), "{tag}");
        is_too_much(&[role], &[before, &most, tag, after], what);
    }
}

#[test]
fn cells_texts_and_content_between_tags_are_limited_in_size() {
    let half = "x".repeat(UNIT_BYTES_MAX as usize / 2);
    for (role, name) in [(Role::Sheet, "c"), (Role::Texts, "si")] {
        let (start, end) = (format!("<{name}>"), format!("</{name}>"));
        let (start, end) = (start.as_str(), end.as_str());
        assert!(measured(&[role], &["<a>", start, &half, end, start, &half, end, "</a>"]).is_ok());
        is_too_much(&[role], &["<a>", start, &half, "<t/>", &half, end, "</a>"], "bytes of one cell");
        // Text that only looks like an end tag hides nothing.
        for fake in [format!("<!--{end}{start}-->"), format!("<![CDATA[{end}{start}]]>"), format!("<t a=\"{start}\"/>")]
        {
            is_too_much(&[role], &["<a>", start, &half, &fake, &half, end, "</a>"], "bytes of one cell");
        }
        for fake in [format!("{start}{end}"), format!("{end}{start}")] {
            let message = measured(&[role], &["<a>", start, "<t>", &fake, "</t>", end, "</a>"]).unwrap_err();
            assert!(message.contains("damaged"), "{message}");
        }
    }
    is_too_much(&[Role::Sheet], &["<a>", &half, &half, &half, "</a>"], "bytes of one cell");
}

#[test]
fn tags_of_styles_and_lists_are_limited_in_size() {
    let long = "x".repeat(STYLE_TAG_BYTES_MAX as usize);
    is_too_much(&[Role::Styles], &["<a><numFmt formatCode=\"", &long, "\"/></a>"], "one tag of the styles");
    let long = "x".repeat(FRAME_TAG_BYTES_MAX as usize);
    is_too_much(&[Role::List], &["<a><Relationship Target=\"", &long, "\"/></a>"], "one tag");
}

#[test]
fn the_role_of_a_part_comes_from_the_relationships_and_not_from_its_name() {
    let mut named = Named::default();
    let xml = "<a><Relationship Type=\"k/officeDocument\" Target=\"XL/w&#46;bin\"/>\
               <Relationship Type='k/worksheet' Target='media/Image1.png'/><Relationship Type='k/image' Target='b.png'/></a>";
    let metered =
        Metered { part: xml.as_bytes(), compressed_bytes: xml.len() as u64, bytes: 0, since_event: 0, fault: None };
    Measure::new(&[Role::List], &mut named).part(metered).unwrap();
    let named_as = |name: &str| roles(name, &named);
    assert_eq!(named_as("_rels/.rels"), (vec![Role::List], Turn::Package));
    assert_eq!(named_as("xl/_rels/W.bin.rels"), (vec![Role::List], Turn::Workbook));
    assert_eq!(named_as("xl/w.bin"), (vec![Role::Workbook], Turn::Named));
    assert_eq!(named_as("xl\\media\\image1.PNG"), (vec![Role::Sheet], Turn::Named));
    assert_eq!(named_as("xl/media/b.png").0, []);
    assert_eq!(named_as("xl/worksheets/_rels/sheet1.xml.rels").0, []);
}
