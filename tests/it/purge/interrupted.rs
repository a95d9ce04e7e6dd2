//! A purge that is killed, or whose disk fails, at any point: the campaign stays closed, nothing is sent, and the same command ends the
//! purge.

use super::{desk, dictionaries, evidence, found, out, run, words_of};
use crate::support::{
    folder::CUSTOMERS,
    program::{UnderWay, rescreen},
};
use rescreen::files::files_in;
use std::{collections::BTreeMap, fs, path::Path};

/// Some of the passes through a kind of point: the first ones, and a few later ones.
fn numbers(count: u64) -> Vec<u64> {
    (1..=count).filter(|number| *number <= 2 || number % 10 == 0 || *number == count).collect()
}

#[test]
fn a_purge_that_dies_anywhere_is_ended_by_the_same_command() {
    let (folder, service) = desk("");
    run(&folder, &service, &[]).exits(3);
    let complete = folder.path().join("complete");
    copied(&out(&folder), &complete);
    let ledger = complete.join("ledger.sqlite");
    let known = dictionaries(&ledger);
    let words: Vec<Vec<u8>> = (0..CUSTOMERS).flat_map(|number| words_of(&ledger, number)).collect();
    let sent = service.checks_arrived();
    let purge = |plan: &str| {
        fs::remove_dir_all(out(&folder)).unwrap();
        copied(&complete, &out(&folder));
        UnderWay::start(rescreen(folder.path(), &PURGE).env("RESCREEN_FAULT", plan)).wait()
    };
    let said = purge("count").exits(0);
    let counts =
        said.stderr.lines().find_map(|line| line.strip_prefix("fault points: ")).expect("the counts").to_owned();
    let counts = counts.split(' ').filter_map(|word| word.split_once('=')).filter(|(point, _)| *point != "failed");
    let (mut cases, mut failed, mut unfinished) = (0, 0, 0);
    for (point, count) in counts {
        for number in numbers(count.parse().unwrap()) {
            // Each point fails once in each way; dying is the harder one.
            for way in if number == 1 { &["killed", "once"][..] } else { &["killed"] } {
                let case = format!("{point}:{number}:{way}:eio");
                failed += u64::from(purge(&case).code != 0);
                // Whether or not it began: a run sends nothing.
                run(&folder, &service, &[]);
                assert_eq!(service.checks_arrived(), sent, "{case}");
                // While it is not finished, every command says so.
                let status = folder.say(&["status", "2021-11"]).exits(0).stdout;
                if status.contains("not finished") {
                    let dry = folder.say(&[&PURGE[..], &["--dry-run"]].concat()).exits(0).stderr;
                    let shown = folder.say(&["evidence", "2021-11", "--to", "never"]).exits(2).stderr;
                    assert!(
                        dry.contains("was interrupted") && shown.contains("run `rescreen purge` again"),
                        "{dry} {shown}"
                    );
                    unfinished += 1;
                }
                folder.say(&PURGE).exits(0);
                assert_eq!(found(&folder, &words, &known), BTreeMap::new(), "{case}");
                let name = format!("after-{cases}");
                let (facts, ..) = evidence(&folder, &name);
                assert!(facts["purges"][0]["finished_at"].is_string(), "{case}: {facts}");
                cases += 1;
            }
        }
    }
    assert!(cases > 20 && failed > cases / 2 && unfinished > 5, "{failed} of {cases} failed, {unfinished} unfinished");
}

const PURGE: [&str; 4] = ["purge", "2021-11", "--older-than", "0d"];

/// Copies a folder with what is below it.
fn copied(from: &Path, to: &Path) {
    for path in files_in(from).unwrap() {
        let file = to.join(&path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::copy(from.join(&path), file).unwrap();
    }
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
}
