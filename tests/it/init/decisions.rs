//! Which column feeds which field: by its name and by its values, and open where two fit or none does.

use super::{sets, settings};
use crate::support::folder::Folder;
use crate::support::program::Said;

/// A list with a header and rows, and what `init` says and writes for it.
fn guessed(header: &str, rows: &[&str], check: &str) -> (Said, String) {
    let folder = Folder::with("list.csv", format!("{header}\n{}\n", rows.join("\n")));
    let said = folder.say(&["init", "list.csv", "--check", check]).exits(0);
    let text = std::fs::read_to_string(folder.path().join("rescreen.toml")).unwrap();
    // The screen breaks sentences into lines.
    let stderr = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    (Said { stderr, ..said }, text)
}

/// The setting of a field, if it has one.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    settings(text).into_iter().find_map(|line| line.strip_prefix("fields.")?.strip_prefix(name)?.strip_prefix(" = "))
}

const PEOPLE: [&str; 3] = ["9503143488082", "7306067651087", "8607125667083"];

#[test]
fn a_name_comes_from_the_column_or_columns_that_say_so() {
    for (header, name) in [
        ("no,Full Name,x", Some("\"Full Name\"")),
        ("no,First Name,Van", Some(r#""{{ row[\"First Name\"] }} {{ Van }}""#)),
        ("no,name,surname", Some(r#""{{ name }} {{ surname }}""#)),
        ("no,Full names,Surname", Some(r#""{{ row[\"Full names\"] }} {{ Surname }}""#)),
        ("no,customer name,branch", Some("\"customer name\"")),
        ("no,remarks,branch", None),
        ("no,name,full_name", None),
        ("no,spouse name,branch", None),
    ] {
        let (said, text) = guessed(header, &["1,Thandi,Nkosi", "2,Anele,Dube", "3,Zola,Moyo"], "aml-screening");
        assert_eq!(field(&text, "name"), name, "{header}\n{text}");
        assert_eq!(said.stderr.contains("expected the full name"), name.is_none());
    }
    let rows = ["Thandi Nkosi,Nkosi,Thandi", "Anele Dube,Dube,Anele", "Zola,Moyo,Zola"];
    let (_, text) = guessed("name,surname,first name", &rows[..2], "aml-screening");
    assert_eq!(field(&text, "name"), Some("\"name\""), "it has the surname");
    let (said, text) = guessed("name,surname,first name", &rows, "aml-screening");
    assert_eq!(field(&text, "name"), None, "some rows have the surname in it:\n{text}");
    said.says("`name` has the surname in 2 of 3 rows");
    let (said, text) = guessed("name,full_name", &["Thandi,Thandi Nkosi", "Anele,Anele Dube"], "aml-screening");
    said.says("`name` and `full_name` fit about equally: choose one");
    for line in ["# fields.name = \"name\"", "# fields.name = \"full_name\""] {
        assert!(text.lines().any(|one| one == line), "{text}");
    }
}

#[test]
fn a_column_of_numbers_is_not_a_name_whatever_it_is_called() {
    let (_, text) = guessed("no,name", &["1,4711", "2,4712", "3,4713"], "adverse-media");
    assert_eq!(field(&text, "name"), None, "{text}");
}

#[test]
fn id_numbers_are_found_by_their_checksum() {
    let of = |header: &str, rows: &[String]| {
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        guessed(header, &rows, "said-verification")
    };
    let one: Vec<String> = PEOPLE.iter().map(|id| format!("x,{id}")).collect();
    let (_, text) = of("a,b", &one);
    assert_eq!(field(&text, "idNumber"), Some("\"b\""));
    assert!(text.contains("# By content: 3 of 3 values are South African ID numbers."), "{text}");
    let two: Vec<String> = PEOPLE.iter().zip(PEOPLE.iter().rev()).map(|(a, b)| format!("{a},{b}")).collect();
    let (said, text) = of("a,b", &two);
    assert_eq!(field(&text, "idNumber"), None, "{text}");
    said.says("`a` and `b` fit about equally");
    let (_, text) = of("Identity No,Spouse ID number", &two);
    assert_eq!(field(&text, "idNumber"), Some("\"Identity No\""), "a better name decides");
    let wrong: Vec<String> = PEOPLE.iter().map(|id| format!("x,{}1", &id[..12])).collect();
    let (said, text) = of("x,RSA ID", &wrong);
    assert_eq!(field(&text, "idNumber"), None, "{text}");
    said.says("`RSA ID` fits in 0 of 3 values");
}

#[test]
fn a_column_that_a_run_would_take_by_itself_is_written_with_a_warning() {
    let (said, text) = guessed("no,id_number", &["1,12", "2,13", "3,14"], "said-verification");
    assert_eq!(field(&text, "idNumber"), Some("\"id_number\""));
    assert!(text.contains("# CHECK THIS: By name; 0 of 3 values are South African ID numbers"), "{text}");
    said.says("doubtful, so check it first: said-verification.idNumber");
}

#[test]
fn a_country_is_not_a_state_and_not_a_column_with_few_values() {
    let rows = ["1,CA,South Africa,Zambia", "2,AL,Namibia,", "3,CO,Botswana,", "4,IN,Lesotho,"];
    let (_, text) = guessed("no,state,c,d", &rows, "aml-screening");
    assert_eq!(field(&text, "country"), Some("\"c\""), "{text}");
    let (_, text) = guessed("no,nationality,x,y", &["1,za,CA,b", "2,zm,AL,b", "3,bw,CO,b"], "aml-screening");
    assert_eq!(field(&text, "country"), Some("\"nationality\""), "{text}");
    let sparse: Vec<String> = (0..20).map(|no| format!("{no},{}", if no < 4 { "Zambia" } else { "" })).collect();
    let sparse: Vec<&str> = sparse.iter().map(String::as_str).collect();
    let (said, text) = guessed("no,c", &sparse, "aml-screening");
    assert_eq!(field(&text, "country"), None, "{text}");
    said.says("`c` (in 4 of 20 rows) has some");
}

#[test]
fn person_or_company_is_read_from_words_and_from_what_every_row_shows() {
    let named = "no,name,customer type";
    let rows = ["1,Thandi Nkosi,Natural", "2,Ubuntu Civils,JURISTIC", "3,Zola Moyo,Natural"];
    let (_, text) = guessed(named, &rows, "adverse-media");
    assert_eq!(field(&text, "entity"), Some(r#""{{ row[\"customer type\"] | lower | table('entity') }}""#));
    for line in ["[tables.entity]", "\"natural\" = \"0\"", "\"juristic\" = \"1\""] {
        sets(&text, line);
    }
    let (_, text) = guessed("no,name,entity", &["1,Thandi Nkosi,0", "2,Ubuntu Civils,1"], "adverse-media");
    assert_eq!(field(&text, "entity"), Some("\"entity\""));
    let (_, text) = guessed("no,name,flag", &["1,Thandi Nkosi,0", "2,Ubuntu Civils,1"], "adverse-media");
    assert_eq!(field(&text, "entity"), None, "0 and 1 under another name may be anything");
    let companies = ["1,Ubuntu Civils (Pty) Ltd", "2,Sondela CC", "3,Moyo Trading Limited"];
    let (_, text) = guessed("no,name", &companies, "adverse-media");
    // `CC` alone after a word is a legal form too.
    assert_eq!(field(&text, "entity"), Some("{ value = 1 }"), "{text}");
    let people = PEOPLE.map(|id| format!("Thandi Nkosi,{id}"));
    let people: Vec<&str> = people.iter().map(String::as_str).collect();
    let (_, text) = guessed("name,x", &people, "adverse-media");
    assert_eq!(field(&text, "entity"), Some("{ value = 0 }"), "{text}");
    let (said, _) = guessed("no,name", &["1,Thandi Nkosi", "2,Zola Moyo"], "adverse-media");
    said.says("expected 0 for a person, 1 for a company; no column says which");
}

#[test]
fn one_name_means_a_plate_or_a_company_by_its_values() {
    let rows = ["1,2016/004321/07", "2,2015/001234/07", "3,1998/002665/23"];
    let (_, text) = guessed("no,reg no", &rows, "cipc-company");
    assert_eq!(field(&text, "registration_number"), Some("\"reg no\""));
    let (said, text) = guessed("no,registration no.", &rows, "vehicle-check");
    assert_ne!(field(&text, "registrationNumber"), None, "a run takes it by its name");
    said.says("doubtful, so check it first: vehicle-check.registrationNumber");
    let (_, text) = guessed("no,x", &["1,CA 123-456", "2,AB 12 CD GP", "3,ND 12345"], "vehicle-check");
    assert_eq!(field(&text, "registrationNumber"), Some("\"x\""));
}

#[test]
fn texts_for_a_missing_value_are_null_and_their_column_is_not_full() {
    let rows = ["1,Thandi Nkosi,za", "2,N/A,za", "3,Zola Moyo,N/A"];
    let (_, text) = guessed("no,full name,country", &rows, "aml-screening");
    sets(&text, "null = [\"\", \"N/A\"]");
    assert!(text.contains("2 cells of the sample") && text.contains("1 of 3 rows has no value"), "{text}");
}

#[test]
fn the_identifier_is_filled_distinct_and_named_so() {
    let id = |header: &str, rows: &[&str]| {
        let (_, text) = guessed(header, rows, "adverse-media");
        settings(&text).into_iter().find_map(|line| line.strip_prefix("id = ").map(str::to_owned))
    };
    let rows = ["Thandi,1,x1", "Zola,2,x2", "Anele,3,x3"];
    assert_eq!(id("name,customer no,code", &rows), Some("\"customer no\"".to_owned()));
    assert_eq!(id("name,amount,code", &rows), Some("\"code\"".to_owned()));
    assert_eq!(id("name,amount,remark", &rows), None, "no name says it");
    assert_eq!(id("no,name", &["1,x", "1,y"]), None, "twice the same");
    assert_eq!(id("no,name", &["1,x", ",y"]), None, "one is empty");
    let people = PEOPLE.map(|id| format!("{id},x"));
    assert_eq!(id("id,name", &people.each_ref().map(String::as_str)), None, "the outputs repeat it");
}

#[test]
fn amounts_are_never_proposed_as_the_identifier() {
    for (header, rows) in [
        ("Amount Spent,name", ["12.50,x", "13.10,y", "14.05,z"]),
        ("order_amount_zar,name", ["12,x", "13,y", "14,z"]),
        ("no,name", ["R 1 234.50,x", "R 99.10,y", "R 14.05,z"]),
    ] {
        let (said, text) = guessed(
            header,
            &rows.map(|row| row.replace(",x", ",p").replace(",y", ",p")).each_ref().map(String::as_str),
            "adverse-media",
        );
        assert!(!settings(&text).iter().any(|line| line.starts_with("id = ")), "{text}");
        assert!(!said.stderr.contains("would do"), "{}", said.stderr);
        said.says("an amount identifies no row");
    }
    let (_, text) = guessed("payment amount ref,name", &["12,x", "13,y", "14,z"], "adverse-media");
    sets(&text, "id = \"payment amount ref\"");
}

#[test]
fn a_first_line_that_may_be_a_row_is_not_repeated() {
    let (said, text) = guessed("Thandi,Nkosi", &["Anele,Dube", "Zola,Moyo"], "aml-screening");
    assert!(text.contains("nothing shows that it has them"), "{text}");
    assert!(!format!("{text}{}", said.stderr).contains("Thandi"), "{text}{}", said.stderr);
}

#[test]
fn members_of_nested_rows_are_paths() {
    let folder = Folder::with(
        "list.jsonl",
        "{\"no\": 1, \"who\": {\"full_name\": \"Thandi Nkosi\", \"country\": \"za\"}, \"entity\": 0}\n\
         {\"no\": 2, \"who\": {\"full_name\": \"Zola Moyo\", \"country\": \"zm\"}, \"entity\": 0}\n",
    );
    let text = folder.init(&["list.jsonl", "--check", "aml-screening"]);
    for line in [
        "fields.name = \"{{ who.full_name }}\"",
        "fields.country = \"{{ who.country }}\"",
        "fields.entity = \"entity\"",
        "id = \"no\"",
    ] {
        sets(&text, line);
    }
    folder.say(&["plan", "--simulate"]).exits(0);
}
