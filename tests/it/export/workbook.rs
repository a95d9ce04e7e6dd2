//! A workbook, opened by another program's reader.

use super::{campaign, exported};
use serde_json::Value;
use std::{fs, process::Command};

/// What openpyxl finds: for each sheet its size, filter and frozen pane, its header, the types of cells by column, and the
/// cells of the first rows.
const SCRIPT: &str = "
import json, sys
try:
    import openpyxl
except ImportError:
    sys.exit(77)
book = openpyxl.load_workbook(sys.argv[1])
found = {}
for sheet in book:
    rows = list(sheet.iter_rows())
    found[sheet.title] = {
        'rows': sheet.max_row, 'filter': sheet.auto_filter.ref, 'frozen': sheet.freeze_panes,
        'bold': all(cell.font.b for cell in rows[0] if cell.value is not None),
        'widths': [sheet.column_dimensions[cell.column_letter].width for cell in rows[0]],
        'header': [cell.value for cell in rows[0]],
        'types': sorted({cell.data_type for row in rows for cell in row}),
        'cells': [[[cell.data_type, str(cell.value), cell.number_format] for cell in row] for row in rows],
    }
print(json.dumps(found))
";

/// What openpyxl finds in a workbook; `None` without it.
fn opened(path: &std::path::Path) -> Option<Value> {
    match Command::new("python3").args(["-c", SCRIPT]).arg(path).output() {
        Err(_) => eprintln!("SKIPPED: there is no python3"),
        Ok(said) if said.status.code() == Some(77) => eprintln!("SKIPPED: python3 has no openpyxl"),
        Ok(said) => {
            assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
            return Some(serde_json::from_slice(&said.stdout).unwrap());
        }
    }
    None
}

#[test]
fn a_workbook_has_a_sheet_for_each_check_and_no_formula() {
    let workspace = campaign();
    let json = exported(&workspace, &["--to", "2026-11.xlsx"]);
    assert_eq!((&json["file_format"], &json["cut_cells"]), (&"xlsx".into(), &0.into()));
    assert_eq!(json["files"][0]["path"], "2026-11.xlsx");
    let path = workspace.path().join("2026-11.xlsx");
    assert_eq!(fs::metadata(&path).unwrap().len(), json["files"][0]["bytes"].as_u64().unwrap());
    let Some(book) = opened(&path) else { return };
    let names: Vec<&String> = book.as_object().unwrap().keys().collect();
    assert_eq!(names, ["summary", "aml-screening", "director-aml", "failures", "skipped"]);
    for name in &names[1..] {
        let sheet = &book[*name];
        assert!(!sheet["types"].to_string().contains("\"f\""), "{name}: {}", sheet["types"]);
        assert_eq!((&sheet["frozen"], &sheet["bold"]), (&"A2".into(), &true.into()), "{name}");
        let (rows, filter) = (sheet["rows"].as_u64().unwrap(), sheet["filter"].as_str().unwrap());
        assert!(filter.starts_with("A1:") && filter.ends_with(&rows.to_string()), "{filter}");
    }
    let results = &book["director-aml"];
    let at = |name: &str| results["header"].as_array().unwrap().iter().position(|column| column == name).unwrap();
    let cell = |row: usize, column: &str| &results["cells"][row][at(column)];
    assert_eq!(*cell(1, "subject"), serde_json::json!(["s", "0001015009087", "@"]));
    assert_eq!(*cell(2, "subject"), serde_json::json!(["s", "=1+1", "@"]));
    assert_eq!(
        (&cell(1, "completed_at")[0], &cell(1, "completed_at")[2]),
        (&"d".into(), &"yyyy\\-mm\\-dd\\ hh:mm:ss".into())
    );
    assert_eq!((&cell(1, "row_number")[0], &cell(1, "row_number")[1]), (&"n".into(), &"1".into()));
    let widths = results["widths"].as_array().unwrap();
    assert!(widths.iter().all(|width| (8.0..=60.0).contains(&width.as_f64().unwrap())), "{widths:?}");
    let summary = book["summary"]["cells"].as_array().unwrap();
    let line = |name: &str| summary.iter().find(|line| line[0][1] == name).unwrap();
    assert_eq!(line("campaign")[1][1], "2026-11");
    assert!(line("answers")[1][1].as_str().unwrap().starts_with("invented by the simulator"), "{}", line("answers"));
    assert_eq!(line("last answer (UTC)")[1][0], "d");
    let (asked, results) = (super::MORE + 5, super::MORE + 3);
    let counts = line("aml-screening");
    assert_eq!((&counts[1][1], &counts[2][1]), (&asked.to_string().into(), &results.to_string().into()));
}

#[test]
fn a_wide_workbook_has_the_rows_as_text() {
    let workspace = campaign();
    exported(&workspace, &["--to", "rows.xlsx", "--wide"]);
    exported(&workspace, &["--to", "rows.csv", "--wide"]);
    let Some(book) = opened(&workspace.path().join("rows.xlsx")) else { return };
    let names: Vec<&String> = book.as_object().unwrap().keys().collect();
    assert_eq!(names, ["summary", "rows"]);
    assert!(!book["rows"]["types"].to_string().contains("\"f\""));
    let (header, rows) = super::csv(&workspace.path().join("rows.csv"));
    assert_eq!(serde_json::to_value(&header).unwrap(), book["rows"]["header"]);
    for (row, cells) in rows.iter().zip(book["rows"]["cells"].as_array().unwrap().iter().skip(1)) {
        for ((cell, found), name) in row.iter().zip(cells.as_array().unwrap()).zip(&header) {
            let cell = cell.strip_prefix('\'').unwrap_or(cell);
            match found[0].as_str().unwrap() {
                "s" => assert_eq!(found[1], cell, "{name}"),
                "d" => assert!(found[1].as_str().unwrap().starts_with(cell) && name.ends_with("_date"), "{name}"),
                "n" if !cell.is_empty() => {
                    let number = |text: &str| text.parse::<f64>().unwrap();
                    assert_eq!(number(found[1].as_str().unwrap()), number(cell), "{name}: {found}");
                }
                _ => assert!(cell.is_empty() && found[1] == "None", "{name}: {found}"),
            }
        }
    }
}
