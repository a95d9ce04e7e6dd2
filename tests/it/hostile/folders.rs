//! An output folder belongs to one ledger: files that another campaign, another program or a person put there are not
//! replaced and not removed, and nothing is written through a link.

use super::{Campaign, Hostile};
use crate::support::program::Said;
use std::{fs, path::Path};

/// The campaign file of a campaign that has its own ledger and shares an output folder.
fn sharing(name: &str) -> String {
    format!("[output]\ndir = \"shared\"\n[ledger]\npath = \"{name}/ledger.sqlite\"\n")
}

#[test]
#[ignore = "make hostile"]
fn two_ledgers_do_not_write_into_one_folder() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 20).file(&sharing("first"));
    let run = |campaign: &Campaign| Said::of(&mut campaign.command(""));
    run(&campaign).exits(0);
    let part = campaign.path().join("shared/results/aml-screening/part-000001.jsonl");
    let before = fs::read(&part).unwrap();
    let campaign = campaign.file(&sharing("second"));
    for _ in 0..2 {
        let said = run(&campaign).exits(2);
        assert!(said.stderr.contains("shared") && said.stderr.contains("--out"), "{}", said.stderr);
        assert_eq!(fs::read(&part).unwrap(), before);
    }
    // The same where the other ledger is in use and has published nothing yet.
    fs::remove_dir_all(campaign.path().join("shared/results")).unwrap();
    fs::remove_file(campaign.path().join("shared/manifest.json")).unwrap();
    let said = run(&campaign).exits(2);
    assert!(
        said.stderr.contains("from a ledger that is lost or in another place (campaign `hostile`)"),
        "{}",
        said.stderr
    );
    let campaign = campaign.file(&sharing("first"));
    run(&campaign).exits(0);
    assert_eq!(fs::read(&part).unwrap(), before, "a part that was removed is written again");
    assert_eq!(service.book().charges(), 20);
}

#[test]
#[ignore = "make hostile"]
fn a_result_part_that_the_ledger_did_not_write_is_not_replaced() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 20);
    campaign.run_until_asked([1]);
    let folder = campaign.out().join("results/aml-screening");
    let number = fs::read_dir(&folder).map_or(0, |parts| parts.count());
    let mine = folder.join(format!("part-{:06}.jsonl", number + 1));
    fs::create_dir_all(&folder).unwrap();
    fs::write(&mine, "mine").unwrap();
    let said = campaign.run();
    if said.code == 0 {
        panic!("the run published over a file of the user's: {}", said.stderr);
    }
    said.exits(2).says("this ledger did not write this file");
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
    fs::remove_file(&mine).unwrap();
    campaign.run().exits(0);
    assert_eq!((campaign.dataset("results").len(), service.book().charges()), (20, 20));
}

#[test]
#[ignore = "make hostile"]
fn a_part_that_was_changed_is_found_before_the_manifest_says_complete() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 20);
    campaign.run().exits(0);
    let part = campaign.out().join("results/aml-screening/part-000001.jsonl");
    let written = fs::read_to_string(&part).unwrap();
    fs::write(&part, written.replace("clear", "cleer")).unwrap();
    campaign.run().exits(11).says("the file was changed after it was written");
    fs::remove_file(&part).unwrap();
    campaign.run().exits(0);
    assert_eq!(fs::read_to_string(&part).unwrap(), written);
}

#[test]
#[ignore = "make hostile"]
fn files_of_the_user_in_a_folder_without_a_ledger_are_kept() {
    let service = Hostile::new().start();
    for name in ["failures/part-000001.jsonl", "results/mine.csv", "skipped/part-000001.parquet", "manifest.json"] {
        let campaign = Campaign::of(&service, 3);
        let mine = campaign.out().join(name);
        fs::create_dir_all(mine.parent().unwrap()).unwrap();
        fs::write(&mine, "mine").unwrap();
        for _ in 0..2 {
            let said = Said::of(&mut campaign.command("")).exits(2);
            assert!(said.stderr.contains("--out"), "{name}: {}", said.stderr);
            assert_eq!(fs::read_to_string(&mine).unwrap(), "mine", "{name}");
        }
    }
    assert_eq!(service.book().charges(), 0);
    // Files with other names may be there.
    let campaign = Campaign::of(&service, 3);
    for name in ["notes.txt", ".notes.txt.tmp"] {
        fs::create_dir_all(campaign.out()).unwrap();
        fs::write(campaign.out().join(name), "mine").unwrap();
    }
    campaign.run().exits(0);
    for name in ["notes.txt", ".notes.txt.tmp"] {
        assert_eq!(fs::read_to_string(campaign.out().join(name)).unwrap(), "mine", "{name}");
    }
}

#[test]
#[ignore = "make hostile"]
fn an_input_in_the_output_folder_is_refused() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 3).with("--out .");
    let said = Said::of(&mut campaign.command("")).exits(2);
    assert!(said.stderr.contains("book.csv lies in the output folder"), "{}", said.stderr);
    let campaign = Campaign::of(&service, 3);
    fs::create_dir_all(campaign.out().join("failures")).unwrap();
    fs::rename(campaign.path().join("book.csv"), campaign.out().join("failures/book.csv")).unwrap();
    std::os::unix::fs::symlink(campaign.out().join("failures/book.csv"), campaign.path().join("book.csv")).unwrap();
    Said::of(&mut campaign.command("")).exits(2).says("lies in the output folder");
    assert!(campaign.out().join("failures/book.csv").is_file());
    // A path through a missing folder becomes valid once the run has created that folder.
    let campaign = Campaign::of(&service, 3).with("--out new/..");
    Said::of(&mut campaign.command("")).exits(2).says("lies in the output folder");
    assert!(campaign.path().join("book.csv").is_file());
    assert_eq!(service.book().charges(), 0);
}

/// Its files would match the patterns of the other campaign, and `--new-ledger` there would move its ledger away.
#[test]
#[ignore = "make hostile"]
fn a_folder_inside_the_results_of_another_campaign_is_refused() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 3);
    campaign.run().exits(0);
    for inside in ["results", "results/aml-screening", "failures/x"] {
        let out = format!("--out out/hostile/{inside}");
        Said::of(&mut campaign.command(&out)).exits(2).says("out/hostile").says("--out");
        let ledger = campaign.out().join(inside).join("ledger.sqlite");
        drop(fs::remove_file(ledger));
    }
    assert_eq!(service.book().charges(), 3);
}

#[test]
#[ignore = "make hostile"]
fn nothing_is_written_through_a_link() {
    let service = Hostile::new().start();
    for name in ["results", "failures", "results/aml-screening", "ledger.sqlite", "ledger.lock"] {
        let campaign = Campaign::of(&service, 3);
        let (link, target) = (campaign.out().join(name), campaign.path().join("elsewhere"));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        if name.starts_with("ledger") {
            fs::write(&target, "").unwrap()
        } else {
            fs::create_dir(&target).unwrap()
        }
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let said = Said::of(&mut campaign.command(""));
        assert!([2, 11].contains(&said.code), "{name}: exit {}: {}", said.code, said.stderr);
        let says_what = ["symbolic link", "--out DIR"].iter().any(|words| said.stderr.contains(words));
        assert!(says_what, "{name}: {}", said.stderr);
        assert!(is_empty(&target), "{name}");
    }
    assert_eq!(service.book().charges(), 0);
}

fn is_empty(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => fs::read(path).unwrap().is_empty(),
    }
}

/// A ledger that others can change must not be used to spend money.
#[test]
#[ignore = "make hostile"]
fn a_ledger_that_others_can_change_is_refused_and_one_that_others_can_read_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 3);
    campaign.run().exits(0);
    let ledger = campaign.out().join("ledger.sqlite");
    let mode = |mode| {
        for suffix in ["", "-wal", "-shm"] {
            let path = campaign.out().join(format!("ledger.sqlite{suffix}"));
            drop(fs::set_permissions(path, fs::Permissions::from_mode(mode)));
        }
    };
    mode(0o666);
    campaign.run().exits(2).says("a file that others can change");
    mode(0o644);
    campaign.run().exits(0).says("can be read by others");
    mode(0o600);
    assert!(!campaign.run().exits(0).stderr.contains("can be read by others"));
    // Only an administrator can give a file to another user.
    if std::os::unix::fs::chown(&ledger, Some(65_534), None).is_err() {
        println!("SKIPPED: a file cannot be given to another user here");
        return;
    }
    campaign.run().exits(2).says("a file of user id 65534");
}

#[test]
#[ignore = "make hostile"]
fn files_of_the_user_beside_the_outputs_are_kept() {
    let service = Hostile::new().start();
    let campaign = Campaign::of(&service, 3);
    campaign.run().exits(0);
    let mine = [
        "failures/kept/part-000003.jsonl",
        "failures/part-18446744073709551615.jsonl",
        "results/mine.csv",
        "pending/notes.parquet",
    ];
    for name in mine {
        let path = campaign.out().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "mine").unwrap();
    }
    campaign.append(4..=6);
    for _ in 0..2 {
        campaign.run().exits(0);
    }
    for name in mine.iter().filter(|name| !name.contains("18446744073709551615")) {
        assert_eq!(fs::read_to_string(campaign.out().join(name)).unwrap(), "mine", "{name}");
    }
}
