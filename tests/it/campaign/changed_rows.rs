//! An input that a person edits between any two runs: rows that were sent stay, the others are those of the file, and
//! each name is paid once.

use crate::support::{rng::Rng, tables::number, world::World};
use rescreen::{ledger::Reading, model::ExitCode, pipeline::campaign::file::Share};
use std::collections::BTreeSet;

/// A book of these names; an empty one is rejected.
fn text(names: &[String]) -> String {
    let rows = names.iter().enumerate().map(|(at, name)| format!("{},{name},active\n", at + 1));
    "no,name,status\n".to_owned() + &rows.collect::<String>()
}

/// A name of few, so that rows share requests.
fn name(rng: &mut Rng) -> String {
    match rng.roll() % 24 {
        0 | 1 => String::new(),
        number => format!("Person {number}"),
    }
}

/// The book after one to three edits of a person.
fn edited(names: &[String], rng: &mut Rng) -> Vec<String> {
    let mut names = names.to_vec();
    for _ in 0..1 + rng.roll() % 3 {
        let at = (rng.roll() as usize) % names.len().max(1);
        match rng.roll() % 6 {
            0 => names.push(name(rng)),
            1 => drop(names.pop()),
            2 if at < names.len() => drop(names.remove(at)),
            3 if at < names.len() => names.insert(at, name(rng)),
            _ if at < names.len() => names[at] = name(rng),
            _ => {}
        }
    }
    names
}

/// The indexes of the rows that may not change.
fn sent(world: &World) -> BTreeSet<usize> {
    let reading = Reading::open(&world.path("out/ledger.sqlite")).unwrap();
    let source = &reading.sources().unwrap()[0];
    let splits = reading.splits_from(source.id, 1).unwrap();
    let rows = splits.iter().flat_map(|split| reading.read_rows(split).unwrap());
    rows.filter(|row| row.was_sent).map(|row| row.row.row_number as usize - 1).collect()
}

#[tokio::test]
async fn whatever_is_edited_between_runs_each_name_is_paid_once_and_sent_rows_stay() {
    let (mut refused, mut read_again) = (0, 0);
    for seed in 0..15 {
        let mut rng = Rng::new(seed);
        let mut names: Vec<String> = (0..4 + rng.roll() % 14).map(|_| name(&mut rng)).collect();
        names.push("Person 23".to_owned());
        let mut world = World::new().csv(&text(&names)).in_splits_of(1 + (rng.roll() % 5) as usize).in_flight(1);
        world.file.guards.max_errors = Some(Share::Percent(100.0));
        let mut charged = 0;
        for round in 0..5 {
            // The last run has no limit.
            world = world.max_credits(if round == 4 { 1_000 } else { charged + 1 + rng.roll() % 3 });
            let ran = world.run().await;
            charged = ran.stats.credits_charged;
            assert_eq!(ran.stats.double_charges, 0, "seed {seed}");
            ran.result.as_ref().unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
            if round == 4 {
                let named = names.iter().filter(|name| !name.is_empty());
                assert_eq!(charged, named.clone().collect::<BTreeSet<_>>().len() as u64, "seed {seed}");
                let ran = ran.adds_up(true);
                let rows: BTreeSet<usize> =
                    ran.results().iter().map(|row| number(row, "row_number") as usize).collect();
                assert_eq!((rows.len(), ran.results().len()), (named.clone().count(), named.count()), "seed {seed}");
                assert!(rows.iter().all(|row| !names[row - 1].is_empty()), "seed {seed}");
                assert_eq!(ran.report().sums.rows, names.len() as u64, "seed {seed}");
                continue;
            }
            let (sent, now) = (sent(&world), edited(&names, &mut rng));
            world.write("book.csv", &text(&now));
            let changes: Vec<usize> =
                (0..names.len()).filter(|row| now.get(*row).is_none_or(|now| *now != names[*row])).collect();
            match changes.iter().find(|row| sent.contains(row)) {
                Some(row) => {
                    let error = world.run().await.exits(ExitCode::Usage).error();
                    assert!(
                        error.contains(&format!("row {} was sent, and has changed", row + 1)),
                        "seed {seed}: {error}"
                    );
                    world.write("book.csv", &text(&names));
                    refused += 1;
                }
                None => {
                    read_again += changes.len();
                    names = now;
                }
            }
        }
    }
    assert!(refused > 5 && read_again > 5, "{refused} refused, {read_again} rows read again");
}
