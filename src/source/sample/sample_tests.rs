//! Samples of small files as people write them.

use super::*;
use std::fs;

fn sampled(name: &str, bytes: &[u8]) -> Result<Sample, SourceError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    let is_known = |text: &str| ["surname", "name"].contains(&text);
    sample(&name.into(), &path, &SampleOptions::default(), &is_known).map(|mut samples| samples.remove(0))
}

fn header(sample: &Sample) -> Vec<&str> {
    sample.header.iter().flatten().map(String::as_str).collect()
}

#[test]
fn the_options_of_a_sample_read_the_whole_source() {
    let sample = sampled("f.csv", b"Customers, of 2026\n\nno;surname\n1;Nkosi\n2;Dube\nTotal;\n").unwrap();
    assert_eq!((header(&sample), sample.rows.len(), sample.is_whole), (vec!["no", "surname"], 2, true));
    assert_eq!((sample.options.skip_lines, sample.options.skip_footer), (2, 1));
    assert_eq!((sample.found.delimiter, sample.options.delimiter), (Some(b';'), None), "it is detected by default");
}

#[test]
fn a_delimiter_that_the_first_line_hides_is_a_setting() {
    let sample = sampled("f.csv", b"no;a,b,c\n1;x\n2;y\n3;z\n").unwrap();
    assert_eq!((sample.options.delimiter, header(&sample)), (Some(b';'), vec!["no", "a,b,c"]));
}

#[test]
fn text_that_is_not_utf_8_is_windows_1252_also_far_from_the_start() {
    let sample = sampled("f.csv", b"no,name\n1,Ren\xe9\n").unwrap();
    assert_eq!(sample.options.encoding, Some(Encoding::WINDOWS_1252));
    let mut long = b"no,name\n".to_vec();
    (0..400_000).for_each(|no| long.extend(format!("{no},Nkosi\n").into_bytes()));
    long.extend((0..9_000).flat_map(|no| format!("{no},Ren#\n").into_bytes()));
    long.iter_mut().filter(|byte| **byte == b'#').for_each(|byte| *byte = 0xe9);
    let sample = sampled("f.csv", &long).unwrap();
    assert_eq!((sample.options.encoding, sample.is_whole), (Some(Encoding::WINDOWS_1252), false));
}

#[test]
fn rows_are_sampled_from_the_whole_file_in_flat_memory() {
    let mut long = b"no,name\n".to_vec();
    (0..300_000).for_each(|no| long.extend(format!("{no},Nkosi\n").into_bytes()));
    let sample = sampled("f.csv", &long).unwrap();
    let numbers: Vec<u64> =
        sample.rows.iter().map(|row| row.get("no").unwrap().to_text().unwrap().parse().unwrap()).collect();
    assert!(numbers.iter().max() > Some(&280_000) && (5_500..7_500).contains(&numbers.len()), "{}", numbers.len());
    let mut distinct = numbers.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), numbers.len(), "no row twice");
}

#[test]
fn a_sample_has_few_rows_of_a_wide_or_heavy_file() {
    let wide: String = (0..1_000).map(|at| format!("c{at}{}", if at < 999 { ',' } else { '\n' })).collect();
    let row = wide.replace('c', "");
    let sample = sampled("f.csv", (wide.clone() + &row.repeat(900)).as_bytes()).unwrap();
    assert!(!sample.is_whole && (400..900).contains(&sample.rows.len()), "{}", sample.rows.len());
    let heavy = format!("no,name\n{}", format!("1,{}\n", "x".repeat(1_000_000)).repeat(30));
    let sample = sampled("f.csv", heavy.as_bytes()).unwrap();
    assert!(!sample.is_whole && sample.rows.len() < 20, "{}", sample.rows.len());
}

#[test]
fn compressed_files_and_json_lines_are_sampled_from_their_start() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, b"no,name\n1,A\n2,B\n").unwrap();
    let sample = sampled("f.csv.gz", &packed.finish().unwrap()).unwrap();
    assert_eq!((header(&sample), sample.rows.len()), (vec!["no", "name"], 2));
    let sample = sampled("f.jsonl", b"{\"a\": 1}\n{\"a\": {\"b\": 2}}\n").unwrap();
    assert_eq!((sample.header, sample.rows.len()), (None, 2));
}

#[test]
fn a_tab_separated_file_and_a_sep_line_need_no_setting() {
    let sample = sampled("f.tsv", b"no\tname\n1\tA\n").unwrap();
    assert_eq!((header(&sample), sample.options.delimiter), (vec!["no", "name"], None));
    let sample = sampled("f.csv", b"sep=;\nno;name\n1;A,B,C\n").unwrap();
    assert_eq!((header(&sample), sample.options.delimiter, sample.options.skip_lines), (vec!["no", "name"], None, 0));
}

#[test]
fn what_is_not_a_table_is_refused() {
    assert!(matches!(sampled("f.csv", b""), Err(SourceError::NoHeader { .. })));
    assert!(matches!(sampled("f.png", b"\x89PNG\r\n\x1a\n"), Err(SourceError::Refused { .. })));
}
