//! Names that become files and folders: names that Windows reserves for devices or truncates are refused.

use crate::support::program::{Said, rescreen};
use std::fs;

#[test]
fn names_that_windows_reserves_are_refused_before_anything_is_created() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("book.csv"), "no,name\n1,Ada Vexford\n").unwrap();
    let words = "run book.csv --check aml-screening --set entity=0 --set country=za --simulate --campaign";
    let run = |name: &str| Said::of(&mut rescreen(folder.path(), &words.split(' ').chain([name]).collect::<Vec<_>>()));
    for name in ["CON", "nul", "Aux", "prn", "com1", "COM0", "lpt9", "con.txt", "NUL.2026.11"] {
        run(name).exits(2).says(&format!("campaign `{name}`")).says("reserved");
    }
    for name in ["trailing.", "2026-11."] {
        run(name).exits(2).says(&format!("campaign `{name}`")).says("end");
    }
    run("trailing ").exits(2);
    assert!(!folder.path().join("out").exists());
    for name in ["console", "com10", "a.con", "nul-2026"] {
        run(name).exits(0);
    }
}

#[test]
fn names_of_checks_that_windows_reserves_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("book.csv"), "no,name\n1,Ada Vexford\n").unwrap();
    let check = |name: &str| format!("[[check]]\nuse = \"aml-screening\"\nname = \"{name}\"\n");
    let declared = |name: &str| {
        format!(
            "[[declaration]]\nname = \"{name}\"\nsummary = \"x\"\nflow = \"direct\"\nroutes.guide = \"/x\"\nfield = []\n\
             [declaration.answer]\npayload = [\"/results\"]\n[declaration.verdict]\n\
             recognised = \"payload is defined\"\notherwise = {{ verdict = \"data\", finding = \"fact\" }}\n[[check]]\nuse = \"{name}\"\n"
        )
    };
    for name in ["con", "nul", "com1", "lpt3", "prn", "aux"] {
        for text in [check(name), declared(name)] {
            fs::write(folder.path().join("rescreen.toml"), text).unwrap();
            let said = Said::of(&mut rescreen(folder.path(), &["plan", "book.csv", "--simulate"])).exits(2);
            assert!(said.stderr.contains("reserved") && said.stderr.contains(name), "{}", said.stderr);
        }
    }
}
