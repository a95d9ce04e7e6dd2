//! The columns that the user names, and the commands that `init` prints for open fields: a wrong name is refused at
//! once, and each command works as it is printed.

use super::sets;
use crate::support::folder::Folder;
use crate::support::program::{Said, shell};
use std::fs;

const PARTS: &str = "{\"RECORD_ID\": \"1001\", \"FEATURES\": [{\"RECORD_TYPE\": \"PERSON\"}, \
     {\"NAME_FULL\": \"Thandi Nkosi\"}, {\"ADDR_COUNTRY\": \"za\"}], \"AMOUNT\": null}\n\
     {\"RECORD_ID\": \"1002\", \"FEATURES\": [{\"RECORD_TYPE\": \"PERSON\"}, \
     {\"NAME_FULL\": \"Zola Moyo\"}, {\"ADDR_COUNTRY\": \"zm\"}]}\n";

/// The commands that were printed, without the one for a plan.
fn commands(said: &Said) -> Vec<String> {
    let lines = said.stderr.lines().map(str::trim);
    lines.filter(|line| line.starts_with("rescreen init ")).map(str::to_owned).collect()
}

#[test]
fn a_column_that_the_rows_do_not_have_is_refused_with_the_nearest_name() {
    let folder = Folder::with("list.csv", "no,id_number,country\n1,9503143488082,za\n2,7306067651087,za\n");
    folder.write("list.jsonl", PARTS);
    for (list, check, map, message) in [
        ("list.csv", "aml-screening", "country=COLUMN", "field `country`: there is no column `COLUMN`"),
        ("list.csv", "said-verification", "idNumber=id_numbr", "did you mean `id_number`?"),
        ("list.csv", "aml-screening", "country=zz", "the columns are `no`, `id_number`, `country`"),
        ("list.jsonl", "aml-screening", "country=ADDR_COUNTRY", "did you mean `FEATURES[].ADDR_COUNTRY`?"),
        ("list.jsonl", "aml-screening", "country=FEATURES[].ADDR_CONTRY", "did you mean `FEATURES[].ADDR_COUNTRY`?"),
        ("list.jsonl", "aml-screening", "country=FEATURES[2].CITY", "there is no column `FEATURES[2].CITY`"),
    ] {
        let said = folder.say(&["init", list, "--check", check, "--map", map]).exits(2);
        assert!(said.stderr.contains(message), "{map}: {}", said.stderr);
        assert!(!folder.path().join("rescreen.toml").exists(), "{map}: nothing is written");
    }
}

#[test]
fn a_name_is_not_repeated_if_the_first_line_may_be_a_row() {
    let folder = Folder::with("list.csv", "Thandi,Nkosi\nAnele,Dube\nZola,Moyo\n");
    let said = folder.say(&["init", "list.csv", "--check", "aml-screening", "--map", "name=Thand"]).exits(2);
    assert!(!said.stderr.contains("Thandi") && !said.stderr.contains("Nkosi"), "{}", said.stderr);
}

#[test]
fn a_path_is_written_as_the_template_that_reads_it() {
    let folder = Folder::with("list.jsonl", PARTS);
    for (path, template) in [
        ("FEATURES[].ADDR_COUNTRY", "{{ FEATURES | map(attribute='ADDR_COUNTRY') | select | first }}"),
        ("FEATURES[2].ADDR_COUNTRY", "{{ FEATURES[2].ADDR_COUNTRY }}"),
    ] {
        let map = format!("country={path}");
        let text = folder.init(&["list.jsonl", "--check", "aml-screening", "--map", &map, "--force"]);
        sets(&text, &format!("fields.country = \"{template}\""));
        folder.say(&["plan", "--simulate"]).exits(0);
    }
    // A key whose values are all null is a column, and so is one in another case.
    for map in ["country=AMOUNT", "country=record_id"] {
        folder.init(&["list.jsonl", "--check", "aml-screening", "--map", map, "--force"]);
    }
}

#[test]
fn each_command_for_an_open_field_works_as_it_is_printed() {
    let sparse = |country: &str| -> String {
        let row = |no: usize| format!("{no},Thandi Nkosi,{},0\n", if no < 4 { country } else { "" });
        (0..20).map(row).collect()
    };
    let folder = Folder::with("list.csv", format!("no,full name,c,entity\n{}", sparse("Zambia")));
    let first = folder.say(&["init", "list.csv", "--check", "aml-screening"]).exits(0);
    let found = commands(&first);
    assert_eq!(
        found,
        [
            r"rescreen init list.csv --check aml-screening --map 'country={{ c | default('\''za'\'', true) }}' --force",
            "rescreen init list.csv --check aml-screening --set country=za --force",
        ],
        "{}",
        first.stderr
    );
    first.says("or fill them with these guesses");
    let text = fs::read_to_string(folder.path().join("rescreen.toml")).unwrap();
    let with_default = "# fields.country = \"{{ c | default('za', true) }}\"";
    for line in ["# fields.country = \"c\"", "# fields.country = { value = \"za\" }", with_default] {
        assert!(text.lines().any(|one| one == line), "expected `{line}` in:\n{text}");
    }
    let decided = text.replace(with_default, &with_default[2..]);
    fs::write(folder.path().join("rescreen.toml"), decided).unwrap();
    folder.say(&["plan", "--simulate"]).exits(0);
    for command in found {
        Said::of(&mut shell(folder.path(), &command)).exits(0);
        folder.say(&["plan", "--simulate"]).exits(0);
    }
}

#[test]
fn an_open_field_without_a_candidate_prints_no_command() {
    let folder = Folder::with("list.csv", "no,x\n1,a\n2,b\n");
    let said = folder.say(&["init", "list.csv", "--check", "said-verification"]).exits(0);
    assert_eq!(commands(&said), [""; 0], "{}", said.stderr);
    assert!(!said.stderr.contains("COLUMN"), "{}", said.stderr);
    // One command fills all open fields.
    let said = folder.say(&["init", "list.csv", "--check", "aml-screening", "--force"]).exits(0);
    let found = commands(&said);
    let filled = "rescreen init list.csv --check aml-screening --set entity=0 --set country=za --force";
    assert_eq!(found, [filled], "{}", said.stderr);
    said.says("fill some of them with these guesses").says("`x`   2 filled, 2 distinct, values of several kinds");
    Said::of(&mut shell(folder.path(), &found[0])).exits(0).says("1 setting is needed and open: name");
}

/// A list of an office that publishes it without a header, and writes `-0-` where a value is missing.
const WITHOUT_HEADER: &str = "36,\"AERO QUILLMOOR\",-0- ,\"CUBA\",-0- \n173,\"VEXFORD, Thandiwe\",\"individual\",\"CUBA\",-0- \n\
     306,\"MOYO, Zola\",\"individual\",\"CUBA\",\"a.k.a. 'ZM'.\"\n424,\"SHIP OF DUBE\",\"vessel\",\"CUBA\",-0- \n";

#[test]
fn a_list_without_a_header_is_ready_with_the_command_that_init_prints() {
    let folder = Folder::with("list.csv", WITHOUT_HEADER);
    let listed = folder
        .say(&["init", "list.csv"])
        .exits(2)
        .says("no header")
        .says("`column_2`  4 filled, 4 distinct, texts")
        .says("a column has texts that may be one");
    let found = commands(&listed);
    assert!(
        found[0].starts_with("rescreen init list.csv --check aml-screening --map name=column_2 --map "),
        "{found:?}"
    );
    let filled = Said::of(&mut shell(folder.path(), &found[0])).exits(0).says("name ← column `column_2`");
    assert_eq!(commands(&filled), [""; 0], "one command is enough: {}", filled.stderr);
    let open = folder.say(&["init", "list.csv", "--check", "aml-screening", "--force"]).exits(0);
    let open = open.says("null ← `-0-`").says("has a word for a person in 2 of 4 rows");
    for command in commands(&open) {
        let filled = Said::of(&mut shell(folder.path(), &command)).exits(0).says("name ← column `column_2`");
        assert_eq!(commands(&filled), [""; 0], "nothing is open: {}", filled.stderr);
        folder.say(&["plan", "--simulate"]).exits(0);
    }
    // A row without the word for a person is a company.
    let text = folder.init(&["list.csv", "--check", "aml-screening", "--force"]);
    let entity = text.lines().find_map(|line| line.strip_prefix("# fields.entity = \"{{ 0 if")).unwrap();
    assert!(entity.contains("['individual'] else 1"), "{text}");
}

#[test]
fn the_checks_that_most_people_begin_with_are_listed_first() {
    let folder = Folder::with("list.csv", "no,full name\n1,Thandi Nkosi\n2,Zola Moyo\n3,Anele Dube\n");
    let found = commands(&folder.say(&["init", "list.csv"]).exits(2));
    assert!(found.len() > 2 && found[0].contains("--check aml-screening "), "{found:?}");
    let folder = Folder::with("list.csv", "no,rsa id\n1,9503143488082\n2,7306067651087\n3,8607125667083\n");
    let found = commands(&folder.say(&["init", "list.csv"]).exits(2));
    assert!(found.len() > 2 && found[0].ends_with("--check said-verification"), "{found:?}");
}

#[test]
fn checks_that_fit_by_names_only_are_listed_and_marked() {
    let folder = Folder::with("list.csv", "id_number,claimed\n12,a\n13,b\n14,c\n");
    folder.write("list.jsonl", PARTS.replace("za", "x").replace("zm", "y"));
    for (list, check) in [("list.csv", "said-verification"), ("list.jsonl", "aml-screening")] {
        let said = folder.say(&["init", list]).exits(2);
        let text = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("These fit by the names of columns only"), "{text}");
        assert!(text.contains(&format!("rescreen init {list} --check {check}")), "{text}");
    }
}

#[test]
fn the_column_that_identifies_a_row_can_be_named_and_the_nearest_one_is() {
    let rows: String = (0..20).map(|no| format!("Thandi {}o,za\n", "nk".repeat(no.max(1)))).collect();
    let folder = Folder::with("list.csv", format!("Full Name,c\n{rows}"));
    let said = folder.say(&["init", "list.csv", "--check", "aml-screening"]).exits(0);
    let text = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("or take `Full Name` with --id, which has 19 different values in 20 rows"), "{text}");
    let words = ["init", "list.csv", "--check", "aml-screening", "--force", "--id"];
    let text = folder.init(&[&words[1..], &["full name"]].concat());
    sets(&text, "id = \"Full Name\"");
    let said = folder.say(&[&words[..], &["Full Nme"]].concat()).exits(2);
    said.says("--id: the input has no column `Full Nme`").says("did you mean `Full Name`?");
    // The printed commands keep it.
    let said = folder.say(&[&words[..], &["Full Name"]].concat()).exits(0);
    assert!(commands(&said).iter().all(|command| command.contains("--id 'Full Name'")), "{}", said.stderr);
}

#[test]
fn of_two_columns_of_texts_the_one_with_several_words_is_guessed_as_the_name() {
    let rows = "QLM,Quillmoor Industries,66740\nVXF,Vexford Holdings,91142\nSND,Sondela,1800\nUBT,Ubuntu Civils,2488\n";
    let folder = Folder::with("list.csv", format!("Symbol,Security,CIK\n{rows}"));
    let found = commands(&folder.say(&["init", "list.csv"]).exits(2));
    assert!(found[0].contains("--map name=Security"), "{found:?}");
}
