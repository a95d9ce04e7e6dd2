//! The lists in `sample-data`: what `init` prints, what it writes, and that the commands it leads to run.

use super::sets;
use crate::support::folder::Folder;
use crate::support::program::{Said, shell};
use std::path::{Path, PathBuf};

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-data").join(name)
}

fn folder(name: &str) -> Folder {
    let folder = Folder::new();
    folder.copy(&sample(name), name);
    folder
}

/// The last line that is a command.
fn command(said: &Said) -> String {
    let all = format!("{}\n{}", said.stdout, said.stderr);
    let lines: Vec<&str> = all.lines().map(str::trim).filter(|line| line.starts_with("rescreen ")).collect();
    lines.last().unwrap_or_else(|| panic!("no command in:\n{all}")).to_string()
}

/// The sample lists with checks that fit them.
const LISTS: [(&str, &[&str]); 5] = [
    ("customers.csv", &["aml-screening", "said-verification"]),
    ("suppliers.csv", &["cipc-company", "adverse-media"]),
    ("fleet.csv", &["vehicle-check", "vin-decode"]),
    ("supplier_banking.csv", &["bank-account"]),
    ("onboarding.csv", &["said-verification", "facematch"]),
];

#[test]
fn the_screen_and_the_file_for_each_sample_list_are_as_recorded() {
    for (list, checks) in LISTS {
        let folder = folder(list);
        let checks = checks.iter().flat_map(|check| ["--check", check]);
        let said = folder.say(&["init", list].into_iter().chain(checks).collect::<Vec<_>>()).exits(0).without_data();
        let file = std::fs::read_to_string(folder.path().join("rescreen.toml")).unwrap();
        let mut lines = said.stderr.lines().filter(|line| !line.starts_with("  rescreen "));
        assert!(lines.all(|line| line.chars().count() <= 80), "{}", said.stderr);
        for (extension, found) in [("txt", said.stderr), ("toml", file)] {
            let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/init/golden");
            let golden = golden.join(list).with_extension(extension);
            if std::env::var_os("RESCREEN_WRITE_GOLDEN").is_some() {
                std::fs::create_dir_all(golden.parent().unwrap()).unwrap();
                std::fs::write(&golden, &found).unwrap();
            }
            let wanted = std::fs::read_to_string(&golden).unwrap_or_default();
            assert_eq!(found, wanted, "{}: RESCREEN_WRITE_GOLDEN=1 writes the file", golden.display());
        }
    }
}

#[test]
fn four_commands_lead_from_the_demo_to_a_rehearsed_result() {
    let folder = Folder::new();
    let demo = folder.say(&["demo", "--dir", "rescreen-demo"]).exits(0);
    let line = command(&demo);
    assert_eq!(line, "rescreen init rescreen-demo/customers.csv --check aml-screening --check said-verification");
    let init = Said::of(&mut shell(folder.path(), &line)).exits(0);
    let line = command(&init);
    assert!(line.starts_with("rescreen plan"), "{line}");
    let plan = Said::of(&mut shell(folder.path(), &line)).exits(0);
    let both = format!("{}\n{}", plan.stdout, plan.stderr);
    let line = both.lines().find_map(|line| line.find("rescreen run").map(|at| line[at..].to_owned())).unwrap();
    assert!(line.contains("--simulate"), "{line}");
    let run = Said::of(&mut shell(folder.path(), &format!("{line} --per-minute 60000")));
    assert!([0, 3].contains(&run.code), "{line}: {}", run.stderr);
    assert!(run.stderr.contains("results ("), "{}", run.stderr);
}

#[test]
fn a_supplier_list_and_a_fleet_are_understood() {
    let folder_of_suppliers = folder("suppliers.csv");
    let text = folder_of_suppliers.init(&["suppliers.csv", "--check", "cipc-company", "--check", "adverse-media"]);
    for line in [
        "fields.registration_number = \"registration_no\"",
        "fields.name = \"name\"",
        "fields.entity = { value = 1 }",
        "id = \"supplier_no\"",
    ] {
        sets(&text, line);
    }
    let folder_of_fleet = folder("fleet.csv");
    let text = folder_of_fleet.init(&["fleet.csv", "--check", "vehicle-check", "--check", "vin-decode"]);
    for line in ["fields.registrationNumber = \"registration\"", "fields.vin = \"vin\"", "id = \"unit_no\""] {
        sets(&text, line);
    }
    assert!(text.contains("# fields.vin = \"vin\""), "the optional VIN is suggested:\n{text}");
    for folder in [folder_of_suppliers, folder_of_fleet] {
        folder.say(&["plan", "--simulate"]).exits(0);
    }
}

#[test]
fn the_fields_of_a_bank_account_are_matched() {
    let folder = folder("supplier_banking.csv");
    let text = folder.init(&["supplier_banking.csv", "--check", "bank-account"]);
    for line in [
        "fields.firstName = \"first_name\"",
        "fields.surname = \"surname\"",
        "fields.identityNumber = \"id_number\"",
        "fields.bankName = \"bank\"",
        "fields.bankAccountNumber = \"account_number\"",
        "fields.bankBranchCode = \"branch_code\"",
        "fields.bankAccountType = \"account_type\"",
    ] {
        sets(&text, line);
    }
}

#[test]
fn the_folder_of_files_is_found_beside_the_list() {
    let folder = folder("onboarding.csv");
    std::fs::create_dir(folder.path().join("onboarding")).unwrap();
    for entry in std::fs::read_dir(sample("onboarding")).unwrap() {
        let path = entry.unwrap().path();
        folder.copy(&path, &format!("onboarding/{}", path.file_name().unwrap().to_str().unwrap()));
    }
    let text = folder.init(&["onboarding.csv", "--check", "facematch", "--check", "proof-of-address"]);
    for line in [
        "files_root = \"onboarding\"",
        "fields.selfie_image_base64 = \"selfie\"",
        "fields.document = \"address_document\"",
        "fields.id_number = \"id_number\"",
    ] {
        sets(&text, line);
    }
    folder.say(&["plan", "--simulate"]).exits(0);
    std::fs::rename(folder.path().join("onboarding"), folder.path().join("scans")).unwrap();
    let said = folder.say(&["init", "onboarding.csv", "--check", "facematch", "--force"]).exits(0);
    said.says("1 setting is needed and open: [input] files_root");
}

#[test]
fn without_a_check_the_fitting_ones_are_listed_as_commands() {
    let folder = folder("fleet.csv");
    let said = folder.say(&["init", "fleet.csv"]).exits(2).without_data();
    insta::assert_snapshot!(said.stderr, @r"
    fleet.csv: CSV with commas, 8 columns, the header in line 1; all 60 rows were
      read

    No check is named. These fit the values of the columns:

    number-plate: vehicle lookup by number plate
      registrationNumber ← column `registration`
      rescreen init fleet.csv --check number-plate

    vehicle-check: comprehensive vehicle check by number plate, and by VIN if mapped
      registrationNumber ← column `registration`; vin ← column `vin` (optional)
      rescreen init fleet.csv --check vehicle-check

    vin-decode: vehicle data decoded from a 17-character VIN
      vin ← column `vin`
      rescreen init fleet.csv --check vin-decode

    `rescreen checks` lists all checks. --check can be given several times.
    ");
    assert!(!folder.path().join("rescreen.toml").exists());
}

#[test]
fn the_next_file_of_a_list_has_a_name_that_no_round_has() {
    let folder = Folder::with("people.csv", "no,name\n1,Thandi Nkosi\n2,Anele Dube\n");
    let order = ["people.csv", "--check", "aml-screening", "--set", "entity=0", "--set", "country=za", "--force"];
    sets(&folder.init(&order), "campaign = \"people-1\"");
    folder.say(&["run", "--simulate"]).exits(0);
    sets(&folder.init(&order), "campaign = \"people-2\"");
    folder.say(&["run"]).exits(2);
    for name in ["people-2.sandbox", "people-3"] {
        std::fs::create_dir_all(folder.path().join("out").join(name)).unwrap();
    }
    sets(&folder.init(&order), "campaign = \"people-4\"");
}

#[test]
fn the_checks_that_fit_are_listed_also_where_a_campaign_file_is() {
    let folder = Folder::with("people.csv", "no,name\n1,Thandi Nkosi\n2,Anele Dube\n");
    folder.write("rescreen.toml", "");
    folder.say(&["init", "people.csv"]).exits(2).says("No check is named");
    folder.say(&["init", "nowhere.csv", "--check", "aml-screening"]).exits(2).says("nowhere.csv");
    folder.say(&["init", "people.csv", "--check", "aml"]).exits(2).says("aml-screening");
    folder.say(&["init", "people.csv", "--check", "aml-screening"]).exits(2).says("rescreen.toml exists");
}
