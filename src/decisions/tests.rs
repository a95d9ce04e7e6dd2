//! Tests of the file of decisions: no byte can change unnoticed, and the last decision about a match counts.

use super::*;
use std::{fs, path::Path};

fn decision(subject: &str, digest: &str, word: Word) -> Decision {
    Decision {
        n: 0,
        decision: word,
        mode: "production".to_owned(),
        check: "aml-screening".to_owned(),
        subject: subject.to_owned(),
        content: content_digest(b"{\"name\":\"A\"}"),
        match_id: "m_1".to_owned(),
        digest: digest.to_owned(),
        why: "another date of birth".to_owned(),
        by: "thandi".to_owned(),
        at: "2026-11-28T06:00:00Z".to_owned(),
        campaign: "2026-11".to_owned(),
        result_id: "9d".repeat(16),
    }
}

fn add(path: &Path, new: Vec<Decision>) -> DecisionsHead {
    let known = read(path, &[]).unwrap().unwrap_or_default();
    append(path, known.head(), new).unwrap()
}

fn fault(path: &Path, used: &[DecisionsHead]) -> String {
    read(path, used).unwrap_err().to_string()
}

#[test]
fn the_last_decision_about_a_match_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.jsonl");
    assert!(read(&path, &[]).unwrap().is_none());
    add(&path, vec![decision("C-1", "m-a", Word::Accepted), decision("C-2", "m-a", Word::Accepted)]);
    add(&path, vec![decision("C-1", "m-b", Word::NotAccepted)]);
    let found = read(&path, &[]).unwrap().unwrap();
    let (one, two) = (decision("C-1", "", Word::Accepted), decision("C-2", "", Word::Accepted));
    let known = found.about(one.about()).unwrap();
    assert_eq!(
        (known.number, known.word, known.is_about("m-b"), known.is_about("m-a")),
        (3, Word::NotAccepted, true, false)
    );
    assert_eq!(found.about(two.about()).unwrap().number, 2);
    assert_eq!(found.about(About { mode: "sandbox", ..one.about() }), None);
    assert_eq!(found.about(About { content: "other", ..one.about() }), None);
}

#[test]
fn any_changed_byte_is_found_and_names_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.jsonl");
    add(&path, (0..4).map(|n| decision(&format!("C-{n}"), "m-a", Word::Accepted)).collect());
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&path, &changed).unwrap();
        let line = whole[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        if at == whole.len() - 1 {
            // The end of the last line: the file is shorter by one decision, which its users notice.
            assert_eq!(read(&path, &[]).unwrap().unwrap().head().count, 3);
            continue;
        }
        let fault = fault(&path, &[]);
        assert!(fault.contains(&format!(", line {line}: expected ")), "{at}: {fault}");
    }
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    for (order, line) in [(vec![0, 2, 3], 2), (vec![0, 2, 1, 3], 2), (vec![0, 1, 1, 2, 3], 3), (vec![1, 2, 3], 1)] {
        fs::write(&path, order.iter().flat_map(|at| lines[*at].to_vec()).collect::<Vec<u8>>()).unwrap();
        assert!(fault(&path, &[]).contains(&format!(", line {line}: expected the digest")), "{order:?}");
    }
}

#[test]
fn a_line_that_was_not_finished_is_no_decision_and_is_removed_by_the_next_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.jsonl");
    add(&path, vec![decision("C-1", "m-a", Word::Accepted), decision("C-2", "m-a", Word::Accepted)]);
    let whole = fs::read(&path).unwrap();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for bytes in first..whole.len() {
        fs::write(&path, &whole[..bytes]).unwrap();
        assert_eq!(read(&path, &[]).unwrap().unwrap().head().count, 1);
        add(&path, vec![decision("C-2", "m-a", Word::Accepted)]);
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn a_file_that_does_not_continue_the_one_before_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("decisions.jsonl"), folder.path().join("other.jsonl"));
    let new = || vec![decision("C-1", "m-a", Word::Accepted)];
    let used = add(&path, new());
    assert_eq!(used.count, 1);
    add(&path, new());
    assert_eq!(read(&path, std::slice::from_ref(&used)).unwrap().unwrap().head().count, 2);
    add(&other, vec![decision("C-9", "m-a", Word::Accepted)]);
    assert!(fault(&other, std::slice::from_ref(&used)).contains("found another digest there"));
    let longer = DecisionsHead { count: 2, chain: read(&path, &[]).unwrap().unwrap().head().chain.clone() };
    assert!(fault(&other, &[longer]).contains("found a file that ends with line 1"));
}

#[test]
fn decisions_that_were_made_without_knowing_the_latest_are_not_added() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.jsonl");
    let before = add(&path, vec![decision("C-1", "m-a", Word::Accepted)]);
    add(&path, vec![decision("C-2", "m-a", Word::Accepted)]);
    let late = append(&path, &before, vec![decision("C-1", "m-b", Word::Accepted)]).unwrap_err();
    assert!(matches!(late, DecisionsError::Meanwhile { .. }) && late.is_usage(), "{late}");
    assert_eq!(read(&path, &[]).unwrap().unwrap().head().count, 2);
}

#[test]
fn a_line_that_no_reader_would_accept_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.jsonl");
    let head = add(&path, vec![decision("C-1", "m-a", Word::Accepted)]);
    // Each of these characters takes two bytes more in JSON.
    let long = decision(&"\\".repeat(700_000), "m-a", Word::Accepted);
    append(&path, &head, vec![decision("C-2", "m-a", Word::Accepted), long]).unwrap_err();
    assert_eq!(read(&path, &[]).unwrap().unwrap().head(), &head);
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_file_also_after_it_was_copied() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decisions.jsonl");
    add(&path, vec![decision("C-1", "m-a", Word::Accepted)]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    add(&path, vec![decision("C-2", "m-a", Word::Accepted)]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_form_of_a_line_never_changes() {
    // A program of a few lines in docs/decisions.md computes the same.
    let (line, chain) = Decision { n: 1, ..decision("C-1", "m-a", Word::Accepted) }.line("");
    assert!(
        line.starts_with("{\"n\":1,\"decision\":\"accepted\",\"mode\":\"production\",\"check\":\"aml-screening\","),
        "{line}"
    );
    assert!(line.ends_with(&format!(",\"chain\":\"{chain}\"}}")));
    assert_eq!(chain, FROZEN);
}

const FROZEN: &str = "07cc310ebb951a39f17ef44b7dd01074ba3d53fed3b17943ea5da8183015b9ec";
