//! `plan --save`: the campaign file that it writes means the same as the flags of the command.

use crate::support::{
    folder::Folder,
    program::{Said, rescreen, shell},
};
use std::collections::BTreeSet;

/// Flags that `--save` does not write, because they are not settings of a campaign. `--sheet` and `--header-row` are
/// settings, but they contradict the others in this test.
const NO_SETTINGS: [&str; 14] = [
    "--change-ids",
    "--show",
    "--failures",
    "--save",
    "--corrections",
    "--json",
    "--quiet",
    "--verbose",
    "--log-format",
    "--help",
    "--config",
    "--simulate",
    "--sheet",
    "--header-row",
];

/// Each flag with a value, and what the campaign file or the next command has of it.
const FLAGS: &[(&str, &str, &str)] = &[
    ("--check", "said-verification", "use = \"said-verification\""),
    ("--map", "said-verification.idNumber={{ no | upper }}", "idNumber = \"{{ no | upper }}\""),
    ("--check", "aml-screening", "use = \"aml-screening\""),
    ("--set", "aml-screening.country=za", "value = \"za\""),
    ("--set", "aml-screening.entity=0", "value = \"0\""),
    ("--expect", "said-verification.surname=name", "surname = \"name\""),
    ("--tables", "short=short.csv", "short = \"short.csv\""),
    ("--campaign", "round", "campaign = \"round\""),
    ("--mode", "production", "mode = \"production\""),
    ("--max-credits", "77", "max_credits = 77"),
    ("--keep-balance", "8", "keep_balance = 8"),
    ("--consent-evidence", "form 12", "evidence = \"form 12\""),
    ("--price", "said-verification=3", "said-verification = 3"),
    ("--price", "aml-screening=2", "aml-screening = 2"),
    ("--per-minute", "31", "per_minute = 31"),
    ("--per-minute-max", "47", "per_minute_max = 47"),
    ("--in-flight", "5", "in_flight = 5"),
    ("--service", "http://127.0.0.1:1", "url = \"http://127.0.0.1:1\""),
    ("--proxy", "none", " --proxy none"),
    ("--webhook-url", "https://hooks.example.co.za", "url = \"https://hooks.example.co.za\""),
    ("--service-moved-from", "http://127.0.0.1:2", " --service-moved-from http://127.0.0.1:2"),
    ("--id", "no", "id = \"no\""),
    ("--limit", "3", " --limit 3"),
    ("--expect-rows", "1..9", " --expect-rows 1..9"),
    ("--delimiter", ";", "delimiter = \";\""),
    ("--encoding", "windows-1250", "encoding = \"windows-1250\""),
    ("--no-header", "", "header = false"),
    ("--columns", "no,name", "columns = [\"no\", \"name\"]"),
    ("--skip-rows", "1", "skip_rows = 1"),
    ("--skip-footer", "1", "skip_footer = 1"),
    ("--visible-only", "", "visible_only = true"),
    ("--files-root", "documents", "files_root = \"documents\""),
    ("--carry", "name,who=no", "carry = [\"name\", { who = \"no\" }]"),
    ("--out", "there", "dir = \"there\""),
    ("--format", "jsonl", "format = \"jsonl\""),
    ("--max-errors", "7", "max_errors = 7"),
    ("--max-unrecognised", "2.5%", "max_unrecognised = \"2.5%\""),
    ("--accept-failures", "10%", "accept_failures = \"10%\""),
];

/// The same for flags that need an earlier round.
const OF_AN_EARLIER_ROUND: &[(&str, &str, &str)] = &[
    ("--changed-since", "out/rehearsals/earlier", "from = \"out/rehearsals/earlier\""),
    ("--max-age", "30d", "max_age = \"30d\""),
    ("--even-if-list-changed", "", "even_if_list_changed = true"),
];

#[test]
fn what_is_used_of_an_earlier_round_is_in_the_file() {
    let folder = people();
    let of_round = |command: &str, name: &str| {
        let flags =
            "people.csv --check aml-screening --id no --map name=name --set country=za --set entity=0 --simulate";
        format!("rescreen {command} {flags} --campaign {name}")
    };
    Said::of(&mut shell(folder.path(), &of_round("run", "earlier"))).exits(0);
    let mut words = of_round("plan", "later") + " --save rescreen.toml";
    for (flag, value, _) in OF_AN_EARLIER_ROUND {
        words += &format!(" {flag} {value}");
    }
    let planned = Said::of(&mut shell(folder.path(), &words)).exits(0);
    planned.shows("answered in out/rehearsals/earlier, free");
    let text = std::fs::read_to_string(folder.path().join("rescreen.toml")).unwrap();
    for (_, _, saved) in OF_AN_EARLIER_ROUND {
        assert!(text.contains(saved), "{saved}:\n{text}");
    }
    let again = Said::of(&mut shell(folder.path(), "rescreen run --simulate")).exits(0);
    again.says("3 requests, 0 free duplicates, 3 reused answers, 0 credits charged");
}

fn people() -> Folder {
    Folder::with("people.csv", "no,name\n1,Thandi Nkosi\n2,Anele Dube\n3,Zola Moyo\n")
}

#[test]
fn every_setting_that_a_flag_can_have_is_in_the_file_or_in_the_next_command() {
    let folder = people();
    folder.write("list.csv", "a title\n1;Thandi Nkosi\n2;Anele Dube\n3;Zola Moyo\nthe end;\n");
    folder.write("short.csv", "key,value\na,b\n");
    std::fs::create_dir(folder.path().join("documents")).unwrap();
    let mut words = vec!["plan", "list.csv", "--save", "rescreen.toml"];
    for (flag, value, _) in FLAGS {
        words.extend([*flag, *value].into_iter().filter(|word| !word.is_empty()));
    }
    let plan = |words: &[&str]| Said::of(rescreen(folder.path(), words).env_remove("RESCREEN_API_KEY"));
    let planned = plan(&words);
    let text = std::fs::read_to_string(folder.path().join("rescreen.toml"))
        .unwrap_or_else(|error| panic!("{error}: {}{}", planned.stdout, planned.stderr));
    for (flag, value, saved) in FLAGS {
        assert!(text.contains(saved) || planned.stdout.contains(saved), "{flag} {value}:\n{text}\n{}", planned.stdout);
    }
    // The file is one that rescreen reads: with it, the plan is the same.
    let again = ["plan", "--proxy", "none", "--service-moved-from", "http://127.0.0.1:2"];
    let again = plan(&[&again[..], &["--limit", "3", "--expect-rows", "1..9"]].concat());
    assert!(planned.stdout.contains("\nrescreen.toml is written\n"), "{}", planned.stdout);
    let is_fact =
        |line: &&str| ![": rescreen ", "campaign file: ", " is written", "time "].iter().any(|one| line.contains(one));
    let facts = |said: &Said| said.stdout.lines().filter(is_fact).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(facts(&again), facts(&planned));

    let help = folder.say(&["plan", "--help"]).exits(0).stdout;
    let words = help.split(|c: char| c.is_whitespace() || ",;`.[".contains(c));
    let known: BTreeSet<&str> = FLAGS.iter().chain(OF_AN_EARLIER_ROUND).map(|flag| flag.0).chain(NO_SETTINGS).collect();
    let flags: BTreeSet<&str> = words.filter(|word| word.len() > 2 && word.starts_with("--")).collect();
    assert_eq!(flags, known, "each flag has its line above");
}

#[test]
fn the_next_command_is_short_and_continues_the_same_campaign() {
    let folder = people();
    let flags = "people.csv --check aml-screening --id no --map name=name --set country=za --set entity=0";
    Said::of(&mut shell(folder.path(), &format!("rescreen run {flags} --simulate"))).exits(0);
    let planned = format!("rescreen plan {flags} --save rescreen.toml --simulate");
    let planned = Said::of(&mut shell(folder.path(), &planned)).exits(0);
    planned.shows("everything is settled");
    let again = Said::of(&mut shell(folder.path(), "rescreen run --simulate")).exits(0);
    again.says("3 requests, 0 free duplicates");
    assert_eq!(std::fs::read_dir(folder.path().join("out/rehearsals")).unwrap().count(), 1);
}

#[test]
fn a_file_in_another_folder_names_the_input_in_full() {
    let folder = people();
    std::fs::create_dir(folder.path().join("rounds")).unwrap();
    let flags = ["plan", "people.csv", "--check", "aml-screening", "--set", "entity=0", "--simulate"];
    let planned =
        folder.say(&[&flags[..], &["--set", "country=za", "--save", "rounds/november.toml"]].concat()).exits(0);
    assert!(
        planned.stdout.contains("continue with: rescreen run -c rounds/november.toml --simulate\n"),
        "{}",
        planned.stdout
    );
    folder.say(&["run", "-c", "rounds/november.toml", "--simulate"]).exits(0);
}

#[test]
fn no_file_is_overwritten_and_no_settings_are_saved_twice() {
    let folder = people();
    let plan =
        ["plan", "people.csv", "--check", "aml-screening", "--set", "entity=0", "--set", "country=za", "--simulate"];
    let saving = |name: &'static str| folder.say(&[&plan[..], &["--save", name]].concat());
    saving("people.csv").exits(2).says("this file exists and is not overwritten");
    saving("nowhere/a.toml")
        .exits(2)
        .says("expected the folder nowhere, found none; make it, or name another file with --save");
    saving("rescreen.toml").exits(0);
    saving("other.toml").exits(2).says("this command reads its settings from rescreen.toml already");
    let missing = ["plan", "nowhere.csv", "--check", "aml-screening", "--save", "third.toml"];
    std::fs::remove_file(folder.path().join("rescreen.toml")).unwrap();
    folder.say(&missing).exits(2);
    assert!(!folder.path().join("third.toml").exists(), "nothing is saved for a plan that cannot be made");
}

#[test]
fn a_long_command_is_offered_to_be_saved() {
    let folder = people();
    let plan =
        ["plan", "people.csv", "--check", "aml-screening", "--set", "entity=0", "--set", "country=za", "--simulate"];
    let hint = "add --save rescreen.toml to this plan";
    assert!(!folder.say(&plan).exits(0).stdout.contains(hint));
    let long = [
        &plan[..],
        &["--per-minute", "60", "--per-minute-max", "120", "--id", "no", "--carry", "name", "--campaign", "november"],
    ]
    .concat();
    folder.say(&long).exits(0).shows(hint);
}
