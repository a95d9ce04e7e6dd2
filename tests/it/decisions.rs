//! The promise: a match that a person accepted needs no person again until it changes, the results say which decisions that rests
//! on, and nothing but a decision about exactly this match does it.

mod refused;
mod rounds;

use crate::support::{
    folder::Folder,
    program::Said,
    schema::valid,
    service::{Service, lifted},
};
use rescreen::simulator::Settings;
use serde_json::Value;
use std::{fmt::Write, fs, ops::Deref};

const CAMPAIGN: &str = r#"
    mode = "production"
    [service]
    api_key = { env = "RESCREEN_API_KEY" }
    per_minute = 600_000
    per_minute_max = 900_000
    [input]
    paths = ["book.csv"]
    id = "no"
    [output]
    carry = ["branch"]
    [budget]
    max_credits = 1_000_000
    prices = { aml-screening = 1 }
    [[check]]
    use = "aml-screening"
    name = "aml"
    fields.name = "name"
    fields.entity = { value = 0 }
    fields.country = { value = "za" }
"#;

/// A folder with the campaigns of one book.
struct Desk(Folder);

impl Desk {
    fn new(customers: usize) -> Desk {
        let desk = Desk(Folder::new());
        let mut book = "no,name,branch\n".to_owned();
        for number in 0..customers {
            writeln!(book, "{number:07},P{number:05} Vexford,B{}", number % 3).unwrap();
        }
        desk.write("book.csv", &book);
        desk.write("rescreen.toml", CAMPAIGN);
        desk
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap()
    }

    fn run(&self, campaign: &str, service: &Service) -> Said {
        self.say(&["run", "--yes", "--campaign", campaign, "--service", &service.url])
    }

    /// The worklist of a campaign.
    fn worklist(&self, campaign: &str, name: &str) -> Vec<Row> {
        self.say(&["export", campaign, "--worklist", "--to", name]).exits(0);
        let mut reader = csv::Reader::from_path(self.path().join(name)).unwrap();
        let header = reader.headers().unwrap().clone();
        let row = |record: csv::StringRecord| {
            header.iter().map(str::to_owned).zip(record.iter().map(str::to_owned)).collect()
        };
        reader.records().map(|record| row(record.unwrap())).collect()
    }

    /// Writes a worklist as a spreadsheet program might, and records it.
    fn decide(&self, campaign: &str, rows: &[Row]) -> Value {
        self.save("filled.csv", rows);
        valid(&self.say(&["decide", campaign, "--from", "filled.csv", "--by", "thandi", "--json"]).exits(0).stdout)
    }

    /// How many decisions there are.
    fn decisions(&self) -> usize {
        fs::read_to_string(self.path().join("out/decisions.jsonl")).map_or(0, |text| text.lines().count())
    }

    fn save(&self, name: &str, rows: &[Row]) {
        let mut writer = csv::WriterBuilder::new().delimiter(b';').from_path(self.path().join(name)).unwrap();
        writer.write_record(rows[0].iter().map(|(column, _)| column)).unwrap();
        for row in rows {
            writer.write_record(row.iter().map(|(_, cell)| cell)).unwrap();
        }
        writer.flush().unwrap();
    }
}

impl Deref for Desk {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.0
    }
}

/// A row of a worklist, by column.
type Row = Vec<(String, String)>;

fn cell<'a>(row: &'a Row, column: &str) -> &'a str {
    &row.iter().find(|(name, _)| name == column).unwrap().1
}

fn set(row: &mut Row, column: &str, text: &str) {
    text.clone_into(&mut row.iter_mut().find(|(name, _)| name == column).unwrap().1);
}

/// The service with the list of this day.
fn service_of(day: &str) -> Service {
    Service::start(Settings { dataset: Some(day.parse().unwrap()), ..lifted() })
}
