//! The books of a campaign: rows of invented persons, some equal, some bad, in CSV or JSON lines.

use super::rng::Rng;
use std::fmt::Write;

/// One input of a campaign.
#[derive(Debug, Clone)]
pub struct Book {
    pub name: &'static str,
    pub text: String,
}

const NAMES: [&str; 3] = ["book.csv", "more.jsonl", "late.csv"];

/// One to three books with this many rows in total.
pub fn books(rng: &mut Rng, rows: u64) -> Vec<Book> {
    let count = rng.pick(&[1, 1, 2, 3]);
    let part = |name: &'static str, rng: &mut Rng| {
        let rows = lines(rng, name, (rows / count).max(1));
        let header = if is_csv(name) { "no,name,id_number,country,status,dataset,company,plate,vin\n" } else { "" };
        Book { name, text: format!("{header}{rows}") }
    };
    NAMES[..count as usize].iter().map(|name| part(name, rng)).collect()
}

fn is_csv(name: &str) -> bool {
    name.ends_with(".csv")
}

/// Lines of a book of this name.
pub fn lines(rng: &mut Rng, book: &str, count: u64) -> String {
    let mut text = String::new();
    // A large book has many people, not many duplicates.
    let persons = if count > 60 { 600 } else { 70 };
    for _ in 0..count {
        let (number, person) = (rng.from(1, 9_999), rng.from(1, persons));
        let country = rng.pick(&["za", "na", "South Africa"]);
        let status = rng.pick(&["active", "active", "active", "closed"]);
        // Given explicitly or left to the declaration's default, it is the same question.
        let dataset = rng.pick(&["", "", "", "all"]);
        let (id_number, name) = (said(person), format!("{} Vexford", name(person)));
        let (company, plate, vin) = (company(person, number), plate(person, number), vin(person, number));
        let line = match (rng.from(0, 30), is_csv(book)) {
            (1, true) => writeln!(text, "{number},ragged"),
            (1, false) => writeln!(text, "{{\"no\": \"{number}\", \"name\""),
            (odd, is_csv) => {
                let name = if odd == 0 { "" } else { &name };
                let id_number = if odd == 2 { "123" } else { &id_number };
                let company = if odd == 2 { "2016/0432/07" } else { &company };
                let plate = if odd == 2 { "CA.1" } else { &plate };
                let vin = if odd == 2 { "1M8" } else { &vin };
                if is_csv {
                    writeln!(text, "{number},{name},{id_number},{country},{status},{dataset},{company},{plate},{vin}")
                } else {
                    writeln!(
                        text,
                        r#"{{"no": "{number}", "name": "{name}", "id_number": "{id_number}", "country": "{country}", "status": "{status}", "dataset": "{dataset}", "company": "{company}", "plate": "{plate}", "vin": "{vin}"}}"#
                    )
                }
            }
        };
        line.expect("writing to a string cannot fail");
    }
    text
}

fn name(person: u64) -> String {
    format!("Q{}{}", char::from(b'a' + (person / 26) as u8), char::from(b'a' + (person % 26) as u8))
}

/// The registration number of a person's company, as people type it. The row's number decides the variant.
fn company(person: u64, number: u64) -> String {
    let (year, middle) = (1990 + person % 30, 4_000 + person);
    match number % 4 {
        0 => format!("CK No.: {year}/{middle:06}/07"),
        1 => format!("{year} / {middle:06} / 07"),
        2 => format!("{year}//{middle:06}/07"),
        _ => format!("{year}/{middle:06}/07"),
    }
}

/// The plate of a person's car, as people type it.
fn plate(person: u64, number: u64) -> String {
    match number % 3 {
        0 => format!("CA {person:03}-118"),
        1 => format!("ca{person:03}118"),
        _ => format!("CA {person:03} 118"),
    }
}

/// The VIN; every fifth row has none.
fn vin(person: u64, number: u64) -> String {
    match number % 5 {
        0 => String::new(),
        1 => format!("  1m8gdm9axkp04{person:04}"),
        _ => format!("1M8GDM9AXKP04{person:04}"),
    }
}

/// An ID number of an invented person, with a valid checksum.
pub fn said(person: u64) -> String {
    let digits = format!("8001{:02}5{:03}08", 1 + person % 28, person);
    let digits = format!("{}{}", &digits[..11], 8);
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, digit)| {
            let digit = u32::from(digit - b'0') * if at % 2 == 0 { 2 } else { 1 };
            digit / 10 + digit % 10
        })
        .sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}
