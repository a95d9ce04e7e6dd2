//! A book of invented people of any size. Names are made from a list and a number, so that each is unique and no row
//! names a real person.

use std::{
    io::{self, Write},
    ops::Range,
};

const FIRST: [&str; 12] = [
    "Thandi", "Sipho", "Lerato", "Pieter", "Aisha", "Johan", "Nomsa", "Riaan", "Zanele", "Ebrahim", "Chanel", "Kagiso",
];
const LAST: [&str; 11] = [
    "Mokoena",
    "Jansen",
    "Naidoo",
    "Botha",
    "Dlamini",
    "Pillay",
    "Abrahams",
    "Nkosi",
    "Venter",
    "Khumalo",
    "Engelbrecht",
];
const COUNTRIES: [&str; 5] = ["South Africa", "Namibia", "Botswana", "Kenya", "Mozambique"];

/// The header of every book.
pub const HEADER: &str = "customer_no,first_name,surname,country,branch";

/// Writes the rows of customers `numbers` with a header; `person` says which invented person a customer is. Two
/// customers who are one person have equal asks.
pub fn write(to: &mut dyn Write, numbers: Range<u64>, person: impl Fn(u64) -> u64) -> io::Result<()> {
    writeln!(to, "{HEADER}")?;
    for number in numbers {
        let who = person(number);
        let at = usize::try_from(who).expect("the size of a book fits usize");
        let (first, last) = (FIRST[at % FIRST.len()], LAST[at % LAST.len()]);
        let (country, branch) = (COUNTRIES[at % COUNTRIES.len()], number % 40);
        writeln!(to, "{number:08},{first},{last} {},{country},branch-{branch}", letters(who))?;
    }
    Ok(())
}

/// A number in letters, as a name may contain it: digits at the end of a name are reserved inputs of the service.
fn letters(mut number: u64) -> String {
    let mut text = String::from("Q");
    loop {
        text.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return text;
        }
    }
}
