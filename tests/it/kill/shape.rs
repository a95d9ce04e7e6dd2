//! What the campaigns of the harness check: people by name, or documents of companies together with their bank accounts.

use crate::{files::sample::pdf, support::book};
use std::{
    fs::{self, File},
    path::Path,
};

/// One byte more than the service accepts without an upload.
const LARGE: usize = 4 * 1024 * 1024 + 1;
/// Every so many documents, one is uploaded first.
const UPLOADED: u64 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Three files of people, in which every tenth is a person of another row. Both checks answer at once.
    People,
    /// Documents, sent as a part of the request or uploaded in two steps before it, and bank accounts, which the service
    /// accepts as jobs. Most jobs end within a second, and some after many seconds, with or without a result.
    Documents,
}

impl Shape {
    /// The two checks with their prices. Not 1, and not equal, so that charges differ from credits and one check from
    /// the other.
    pub fn prices(self) -> [(&'static str, u64); 2] {
        match self {
            Shape::People => [("aml-screening", 3), ("adverse-media", 2)],
            Shape::Documents => [("proof-of-address", 3), ("business-bank-account", 7)],
        }
    }

    pub fn has_jobs(self) -> bool {
        self == Shape::Documents
    }

    /// How many of the requests the service accepts as jobs.
    pub fn jobs(self, rows: u64) -> u64 {
        if self.has_jobs() { rows } else { 0 }
    }

    /// The check whose requests become jobs.
    pub fn job_check(self) -> &'static str {
        if self.has_jobs() { self.prices()[1].0 } else { "" }
    }

    /// The rows of a campaign. Each company is two requests, and every tenth has a document of four mebibytes.
    pub fn rows(self) -> u64 {
        if self == Shape::People { 1_000 } else { 400 }
    }

    /// The most kills of one campaign. With more, lives get too short to send anything.
    pub fn kills_max(self) -> u32 {
        if self == Shape::People { 50 } else { 100 }
    }

    /// Faults of the service that this shape survives without a failure. A 503 that states no charge ends a request for a
    /// job, because it asks for a webhook.
    pub fn more_faults(self) -> &'static str {
        if self == Shape::People { ",error503_uncharged:0.01" } else { "" }
    }

    /// The duration of all lives together, as a share of the time that sending takes without kills. Below 1, something is
    /// left to kill at the end. With jobs it is higher: each life begins with lone requests that prove two prices, and at
    /// the end jobs are left to collect.
    pub fn killed_share(self) -> f64 {
        if self == Shape::People { 0.75 } else { 3.0 }
    }

    /// How many documents are uploaded before their request.
    pub fn uploads(self, rows: u64) -> u64 {
        if self == Shape::Documents { rows / UPLOADED } else { 0 }
    }

    pub fn write_input(self, folder: &Path, rows: u64) {
        match self {
            Shape::People => write_people(folder, rows),
            Shape::Documents => write_documents(folder, rows),
        }
    }

    pub fn input(self) -> &'static str {
        match self {
            Shape::People => "[input]\npaths = [\"book-0.csv\", \"book-1.csv\", \"book-2.csv\"]\nid = \"customer_no\"",
            Shape::Documents => {
                "[input]\npaths = [\"book-0.csv\", \"book-1.csv\", \"book-2.csv\"]\nid = \"no\"\nfiles_root = \"files\""
            }
        }
    }

    pub fn checks(self) -> &'static str {
        match self {
            Shape::People => {
                r#"
[[check]]
use = "adverse-media"
fields.name = "{{ first_name }} {{ surname }}"
fields.entity = { value = 0 }
[[check]]
use = "aml-screening"
fields.name = "{{ first_name }} {{ surname }}"
fields.country = "{{ country | country }}"
fields.entity = { value = 0 }
"#
            }
            Shape::Documents => {
                r#"
[[check]]
use = "proof-of-address"
fields.document = "file"
[[check]]
use = "business-bank-account"
fields.businessName = "company"
fields.registrationNumber = "registration"
fields.bankName = { value = "FNB" }
fields.bankAccountNumber = "account"
fields.bankAccountType = { value = "current" }
"#
            }
        }
    }
}

/// The rows of three files.
fn cuts(rows: u64) -> [u64; 4] {
    [1, 1 + rows / 3, 1 + 2 * rows / 3, 1 + rows]
}

fn write_people(folder: &Path, rows: u64) {
    let persons = rows - rows / 10;
    for (at, cut) in cuts(rows).windows(2).enumerate() {
        let mut file = File::create(folder.join(format!("book-{at}.csv"))).unwrap();
        // Every tenth row is the person of another row, near or far.
        let person =
            |number: u64| if number.is_multiple_of(10) { 1 + number * 7 % persons } else { number - number / 10 };
        book::write(&mut file, cut[0]..cut[1], person).unwrap();
    }
}

fn write_documents(folder: &Path, rows: u64) {
    fs::create_dir(folder.join("files")).unwrap();
    for (at, cut) in cuts(rows).windows(2).enumerate() {
        let mut book = "no,file,company,registration,account\n".to_owned();
        for number in cut[0]..cut[1] {
            let bytes = if number.is_multiple_of(UPLOADED) { LARGE } else { 2_000 };
            fs::write(folder.join(format!("files/{number}.pdf")), pdf(number, bytes)).unwrap();
            book += &format!("{number},{number}.pdf,Company {number},2015/{number:06}/07,{}\n", 6_200_000_000 + number);
        }
        fs::write(folder.join(format!("book-{at}.csv")), book).unwrap();
    }
}
