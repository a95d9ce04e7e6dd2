//! Files as other programs write them: what is remarkable about their rows is printed by `plan` and `run`, and their
//! encodings are read.

use super::Workspace;
use crate::support::program::{Said, rescreen};
use std::fs;

const REHEARSAL: &str = "book.csv --check aml-screening --map name=name --set entity=0 --set country=za --simulate";

fn rehearsed(workspace: &Workspace, command: &str, more: &[&str]) -> Said {
    let words: Vec<&str> = [command].into_iter().chain(REHEARSAL.split(' ')).chain(more.iter().copied()).collect();
    Said::of(&mut rescreen(workspace.path(), &words))
}

#[test]
fn plan_and_run_say_how_many_rows_are_empty_or_span_several_lines() {
    let workspace = Workspace::new(1);
    let blank = ",,\r\n".repeat(120);
    workspace.write("book.csv", &format!("no,name,city\r\n1,A Person,x\r\n2,\"B Person\r\n3\",y\r\n{blank}"));
    let empty = "rows of empty cells, skipped: 120, the first in line 5 of book.csv";
    let spans = "rows that span several lines: 1, the first at lines 3 to 4 of book.csv";
    rehearsed(&workspace, "plan", &[]).exits(0).shows(empty).shows(spans);
    rehearsed(&workspace, "run", &[]).exits(0).says(empty).says(spans);
}

#[test]
fn utf_16_without_a_byte_order_mark_and_code_pages_are_read() {
    let workspace = Workspace::new(1);
    let utf_16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let book = workspace.path().join("book.csv");
    fs::write(&book, utf_16("no,name\r\n1,Zo\u{eb} Person\r\n")).unwrap();
    rehearsed(&workspace, "plan", &[]).exits(0).shows("to send 1");
    rehearsed(&workspace, "plan", &["--encoding", "utf-16"]).exits(0).shows("to send 1");
    // Not recognised: the message says what to type.
    fs::write(&book, utf_16("\u{438}\u{43c}\u{44f},name\r\n1,Zo\u{eb} Person\r\n")).unwrap();
    rehearsed(&workspace, "plan", &[]).exits(2).says("--encoding utf-16le");
    rehearsed(&workspace, "plan", &["--encoding", "utf-16"]).exits(2).says("utf-16le");
    rehearsed(&workspace, "plan", &["--encoding", "utf-16le"]).exits(0).shows("to send 1");
    fs::write(&book, b"no,name\n1,\xcd\xf5\xd0\xa1\xc3\xf7\n").unwrap();
    rehearsed(&workspace, "plan", &["--encoding", "gbk"]).exits(0).shows("to send 1");
    rehearsed(&workspace, "plan", &["--encoding", "klingon"]).exits(2).says("`shift_jis`");
}
