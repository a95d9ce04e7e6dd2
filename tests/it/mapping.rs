//! From rows to asks, as a user configures it: columns, templates, constants, `when`, nulls, and the message for every
//! mistake.

mod by_name;
mod identifiers;
mod visible;

use crate::support::data::shared;
use rescreen::{
    catalogue::Catalogue,
    mapping::{Bound, CheckUse, FieldSource, Mapped, Mapping, MappingError, MappingOptions},
    model::{FailureCode, Mode, Position, Row, field::sa_id, row::Values},
    template::Tables,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, sync::Arc};

const AML: &str = "aml-screening";
const SAID: &str = "said-verification";

/// A campaign under construction: `Draft::of(AML).field("name", "{{ a }}").constant("entity", json!(0)).bind(&["a"])`.
#[derive(Clone)]
struct Draft {
    uses: Vec<CheckUse>,
    options: MappingOptions,
}

impl Draft {
    fn of(check: &str) -> Draft {
        Draft { uses: vec![], options: MappingOptions::new("2026-11", Mode::Sandbox) }.and(check)
    }

    /// AML where every field is fed by the column with its name.
    fn plain() -> Draft {
        Draft::of(AML).field("name", "name").constant("entity", json!(0)).constant("country", json!("za"))
    }

    fn and(mut self, check: &str) -> Draft {
        self.uses.push(CheckUse { check: check.into(), ..CheckUse::default() });
        self
    }

    fn last(&mut self) -> &mut CheckUse {
        self.uses.last_mut().unwrap()
    }

    fn named(mut self, name: &str) -> Draft {
        self.last().name = Some(name.into());
        self
    }

    fn when(mut self, when: &str) -> Draft {
        self.last().when = Some(when.into());
        self
    }

    fn field(mut self, field: &str, source: &str) -> Draft {
        self.last().fields.insert(field.into(), FieldSource::from(source));
        self
    }

    fn constant(mut self, field: &str, value: Value) -> Draft {
        self.last().fields.insert(field.into(), FieldSource::Constant(value));
        self
    }

    fn null(mut self, words: &[&str]) -> Draft {
        self.options.null = words.iter().map(|word| (*word).into()).collect();
        self
    }

    fn mapping(&self) -> Result<Mapping, MappingError> {
        Mapping::new(&Catalogue::built_in(), &self.uses, self.options.clone())
    }

    fn bind(&self, header: &[&str]) -> Result<Bound, MappingError> {
        self.mapping()?.bind(&header.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    /// The asks of one row of cells.
    fn maps(&self, header: &[&str], cells: &[&str]) -> Vec<Mapped> {
        self.bind(header).unwrap().map(&flat(header, cells)).unwrap()
    }

    fn refusal(&self, header: &[&str]) -> String {
        self.bind(header).map(|_| ()).unwrap_err().to_string()
    }
}

fn row(values: Values) -> Row {
    Row { position: Position { source: "test".into(), row_number: 7, line: 8, byte_offset: 0 }, values }
}

fn flat(header: &[&str], cells: &[&str]) -> Row {
    let header = Arc::new(header.iter().map(|name| (*name).to_owned()).collect());
    row(Values::Flat { header, cells: cells.iter().copied().collect() })
}

fn nested(value: Value) -> Row {
    let Value::Object(map) = value else { panic!("a row is an object") };
    row(Values::Nested(map))
}

fn fields(mapped: &Mapped) -> Value {
    match mapped {
        Mapped::Ask(ask) => Value::Object(ask.fields.clone()),
        Mapped::Skipped(reason) => json!({ "skipped": reason }),
        Mapped::Failed(failure) => json!({ "failed": failure.code.as_str(), "message": failure.message }),
    }
}

fn code(mapped: &Mapped) -> FailureCode {
    let Mapped::Failed(failure) = mapped else { panic!("a failure, not {mapped:?}") };
    failure.code
}

#[test]
fn column_names_match_with_spaces_and_case_ignored_and_values_are_trimmed() {
    let draft = Draft::plain().field("name", " customer name");
    let mapped = draft.maps(&["no", "Customer Name "], &["1", "  Thandi \u{a0} Nkosi "]);
    assert_eq!(fields(&mapped[0]), json!({"name": "Thandi Nkosi", "entity": 0, "country": "za"}));
}

#[test]
fn identifiers_stay_unchanged() {
    let mapped = Draft::plain().maps(&["name"], &["0012"]);
    assert_eq!(fields(&mapped[0])["name"], json!("0012"));
    let mapped = Draft::of(SAID).maps(&["ID No."], &["8001015009087"]);
    assert_eq!(fields(&mapped[0]), json!({"idNumber": "8001015009087"}));
}

#[test]
fn unmapped_fields_are_matched_by_name_and_synonym() {
    let header = ["Full-Name", "entity type", "COUNTRY_CODE", "dataset"];
    let bound = Draft::of(AML).bind(&header).unwrap();
    let feeds: Vec<_> =
        bound.feeds().iter().map(|feed| format!("{} {} {}", feed.field, feed.from, feed.by_name)).collect();
    let by_name = [
        "name column `Full-Name` true",
        "entity column `entity type` true",
        "country column `COUNTRY_CODE` true",
        "dataset default \"all\" false",
    ];
    assert_eq!(feeds, by_name, "an optional field is never matched by name");
    let mapped = bound.map(&flat(&header, &["A", "company", "ZA", "pep"])).unwrap();
    assert_eq!(fields(&mapped[0]), json!({"name": "A", "entity": 1, "country": "za"}));
    let mapped = Draft::of("vehicle-check").maps(&["plate", "vin"], &["CA 123", "1M8GDM9AXKP042788"]);
    assert_eq!(fields(&mapped[0]), json!({"registrationNumber": "CA123"}));
}

#[test]
fn an_explicit_mapping_precedes_a_match() {
    let mapped = Draft::plain().field("name", "trading_as").maps(&["name", "trading_as"], &["A", "B"]);
    assert_eq!(fields(&mapped[0])["name"], json!("B"));
}

#[test]
fn a_required_field_without_a_source_names_the_columns_and_the_flag() {
    assert_eq!(
        Draft::of(SAID).refusal(&["branch", "id_numbr"]),
        "check `said-verification` needs field `idNumber` (South African ID number, 13 digits; date, citizenship and \
         checksum are checked before anything is paid), and no column matches it; did you mean `id_numbr`?; \
         the columns are `branch`, `id_numbr`; set it with `--map idNumber=COLUMN`"
    );
}

#[test]
fn every_wrong_name_names_the_nearest_valid_one() {
    let cases = [
        (Draft::of("aml-screning"), "no check is called `aml-screning`; did you mean `aml-screening`?"),
        (Draft::of(AML).field("nme", "a"), "check `aml-screening` has no field `nme`; did you mean `name`?"),
        (
            Draft::plain().field("name", "Custmer"),
            "field `name`: there is no column `Custmer`; did you mean `customer`?",
        ),
        (Draft::plain().field("name", "{{ custmer }}"), "there is no column `custmer`; did you mean `customer`?"),
        (Draft::plain().field("name", "{{ row['Custmer'] }}"), "there is no column `Custmer`; did you mean"),
        (Draft::plain().when("statsu == 'x'"), "when: there is no column `statsu`; did you mean `status`?"),
        (
            Draft::plain().field("name", "{{ name | uper }}"),
            "field `name`: there is no filter `uper`; did you mean `upper`?",
        ),
        (Draft::plain().field("name", "{{ name"), "check `aml-screening`, field `name`: "),
        (Draft::plain().when("status =="), "check `aml-screening`, when: "),
        (Draft::plain().constant("entity", json!(5)), "the constant of field `entity`: expected one of 0, 1"),
        (Draft::plain().and(AML), "expected unique check names, found two checks named `aml-screening`"),
    ];
    for (draft, expected) in cases {
        let message = draft.refusal(&["name", "customer", "status"]);
        assert!(message.contains(expected), "{message}\nshould say\n{expected}");
    }
}

#[test]
fn a_wrong_name_that_only_a_row_can_show_stops_the_run() {
    let draft = Draft::plain().field("name", "{% set column = 'Nmae' %}{{ row[column] }}");
    let error = draft.bind(&["name"]).unwrap().map(&flat(&["name"], &["A"])).unwrap_err();
    assert!(matches!(error, MappingError::UnknownColumnInRow { row_number: 7, .. }), "{error}");
    assert!(!error.to_string().contains("Nmae"), "a name in a row may be a person's: {error}");
}

#[test]
fn a_check_used_twice_has_two_names_and_one_catalogue_name_in_its_keys() {
    let draft = Draft::plain().named("customer").and(AML).named("director").field("name", "director");
    let draft = draft.constant("entity", json!(0)).constant("country", json!("za"));
    let mapped = draft.maps(&["name", "director"], &["Thandi Nkosi", "Thandi Nkosi"]);
    let [Mapped::Ask(customer), Mapped::Ask(director)] = &mapped[..] else { panic!("{mapped:?}") };
    assert_eq!(customer.key, director.key, "equal content is paid once");
    assert_eq!((customer.check_index, director.check_index), (0, 1));
}

#[test]
fn a_catalogue_default_is_sent_and_stays_out_of_the_key() {
    let [Mapped::Ask(by_default)] = &Draft::plain().maps(&["name"], &["A"])[..] else { panic!() };
    let [Mapped::Ask(mapped)] = &Draft::plain().constant("dataset", json!("all")).maps(&["name"], &["A"])[..] else {
        panic!()
    };
    assert_eq!(by_default.body, mapped.body);
    assert_ne!(by_default.key, mapped.key, "a constant is mapped, a default is not");
}

#[test]
fn a_null_cell_fails_a_required_field_and_leaves_an_optional_one_out() {
    let draft = Draft::plain().field("dataset", "set").null(&["", "NULL"]);
    for empty in ["", "  ", "NULL", " NULL "] {
        let mapped = draft.maps(&["name", "set"], &[empty, "all"]);
        assert_eq!(
            fields(&mapped[0]),
            json!({"failed": "missing_value", "message": "field `name` (column `name`): expected a value, found none"})
        );
        assert_eq!(fields(&draft.maps(&["name", "set"], &["A", empty])[0]).get("dataset"), None);
    }
}

#[test]
fn a_surname_of_null_is_a_surname_where_its_column_says_so() {
    let mut draft = Draft::plain().null(&["", "Null"]);
    assert_eq!(code(&draft.maps(&["name"], &["Null"])[0]), FailureCode::MissingValue);
    draft.options.null_in = BTreeMap::from([("Name ".to_owned(), vec![String::new()])]);
    assert_eq!(fields(&draft.maps(&["name"], &["Null"])[0])["name"], json!("Null"));
    let templated = draft.field("name", "{{ name }}");
    assert_eq!(fields(&templated.maps(&["name"], &["Null"])[0])["name"], json!("Null"));
}

#[test]
fn a_missing_surname_never_becomes_part_of_a_name() {
    let header = ["first_name", "surname"];
    let draft = Draft::plain().field("name", "{{ first_name }} {{ surname }}");
    assert_eq!(fields(&draft.maps(&header, &["Jo", "Dube"])[0])["name"], json!("Jo Dube"));
    let mapped = draft.maps(&header, &["Jo", ""]);
    let message =
        "field `name` (template): column `surname` has no value; set a value to use instead with `| default(…)`";
    assert_eq!(fields(&mapped[0]), json!({"failed": "missing_value", "message": message}));
    let draft = Draft::plain().field("name", "{{ first_name }} {{ surname | default('') }}");
    assert_eq!(fields(&draft.maps(&header, &["Jo", ""])[0])["name"], json!("Jo"));
    let empty = Draft::plain().field("name", "{{ surname | default('') }}");
    assert_eq!(code(&empty.maps(&header, &["Jo", ""])[0]), FailureCode::MissingValue);
}

#[test]
fn when_decides_whether_a_row_is_checked() {
    let draft = Draft::plain().when("status == 'active'");
    let header = ["name", "status"];
    assert!(matches!(draft.maps(&header, &["A", " active "])[0], Mapped::Ask(_)));
    for status in ["closed", ""] {
        assert_eq!(fields(&draft.maps(&header, &["A", status])[0]), json!({"skipped": "when: status == 'active'"}));
    }
    let ordered = Draft::plain().when("status > 'b'");
    assert_eq!(code(&ordered.maps(&header, &["A", ""])[0]), FailureCode::MissingValue, "no order with nothing");
}

#[test]
fn a_value_the_field_refuses_names_field_and_column_and_never_the_value() {
    let header = ["ID No", "name", "entity", "country"];
    let draft = Draft::of(SAID).and(AML);
    let mapped = draft.maps(&header, &["800101500908", "Thandi", "0", "za"]);
    let said = fields(&mapped[0]);
    assert_eq!(said["failed"], json!("spreadsheet_damage"));
    let message =
        "field `idNumber` (column `ID No`): expected an ID number of 13 digits, found 12: a spreadsheet may have";
    assert!(said["message"].as_str().unwrap().starts_with(message), "{said}");
    assert!(matches!(mapped[1], Mapped::Ask(_)), "the other check continues");
    let mapped = draft.maps(&header, &["8001015009087", "Thandi", "2", "Ruritania"]);
    assert_eq!(
        fields(&mapped[1])["message"],
        json!(
            "field `entity` (column `entity`): expected one of 0, 1 (or `business`, `company`, `individual`, `legal entity`, \
             `legal person`, `natural person`, `organisation`, `organization`, `person`)"
        )
    );
    let mapped = draft.maps(&header, &["8001015009087", "Thandi", "1", "Ruritania"]);
    assert_eq!(code(&mapped[1]), FailureCode::UnknownCountry);
    assert!(!fields(&mapped[1]).to_string().contains("Ruritania"));
}

#[test]
fn a_template_that_fails_is_its_own_failure() {
    let draft = Draft::plain().field("country", "{{ land | country }}");
    assert_eq!(fields(&draft.maps(&["name", "land"], &["A", "South Africa"])[0])["country"], json!("za"));
    let mapped = draft.maps(&["name", "land"], &["A", "Ruritania"]);
    assert_eq!(code(&mapped[0]), FailureCode::UnknownCountry);
    assert!(!fields(&mapped[0]).to_string().contains("Ruritania"));
    let mapped =
        Draft::plain().field("country", "{{ land | date('%Y') }}").maps(&["name", "land"], &["A", "Ruritania"]);
    assert_eq!(code(&mapped[0]), FailureCode::TemplateError);
}

#[test]
fn a_table_translates_and_what_it_lacks_is_missing() {
    let mut draft = Draft::plain().field("country", "{{ Nationality | table(\"nationality\") }}");
    let table = BTreeMap::from([("American".to_owned(), "us".to_owned())]);
    draft.options.tables = Tables(BTreeMap::from([("nationality".to_owned(), table)]));
    let header = ["name", "Nationality"];
    assert_eq!(fields(&draft.maps(&header, &["A", " American"])[0])["country"], json!("us"));
    assert_eq!(code(&draft.maps(&header, &["A", "american"])[0]), FailureCode::MissingValue);
}

#[test]
fn a_field_over_a_mebibyte_is_too_large() {
    let draft = Draft::plain();
    assert_eq!(code(&draft.maps(&["name"], &[&"x".repeat(1 << 20)])[0]), FailureCode::InvalidValue, "500 characters");
    assert_eq!(code(&draft.maps(&["name"], &[&"x".repeat((1 << 20) + 1)])[0]), FailureCode::FieldTooLarge);
}

#[test]
fn a_json_row_feeds_single_values_and_refuses_lists() {
    let draft = Draft::of(AML).field("name", "name").field("entity", "type").constant("country", json!("za"));
    let bound = draft.mapping().unwrap().bind_nested(&["name".to_owned()]).unwrap();
    let map = |value: Value| fields(&bound.map(&nested(value)).unwrap()[0]);
    assert_eq!(map(json!({"name": "A", "type": 1}))["entity"], json!(1));
    assert_eq!(map(json!({"Name": "A", "type": "0"}))["entity"], json!(0));
    assert_eq!(map(json!({"name": 12, "type": 1}))["name"], json!("12"));
    assert_eq!(map(json!({"name": ["A"], "type": 1}))["failed"], json!("invalid_value"));
    assert_eq!(map(json!({"name": {"a": 1}, "type": 1}))["failed"], json!("invalid_value"));
    assert_eq!(map(json!({"name": null, "type": 1}))["failed"], json!("missing_value"));
    assert_eq!(map(json!({"type": 1}))["failed"], json!("missing_value"));
}

/// The same 120 customers, flat and nested, are the same 120 requests.
#[test]
fn flat_and_nested_rows_of_the_same_customers_give_the_same_keys() {
    let (Some(flat_path), Some(nested_path)) =
        (shared("names/senzing_customers.csv"), shared("names/senzing_customers.jsonl"))
    else {
        return;
    };
    let flat_names = "{{ PRIMARY_NAME_FULL or NATIVE_NAME_FULL or PRIMARY_NAME_ORG or \
        [PRIMARY_NAME_FIRST, PRIMARY_NAME_MIDDLE, PRIMARY_NAME_LAST] | select | join(' ') }}";
    let draft = Draft::of(AML).constant("country", json!("za"));
    let csv_draft = draft.clone().field("name", flat_names);
    let csv_draft = csv_draft.field("entity", "{{ 1 if RECORD_TYPE == 'ORGANIZATION' else 0 }}");

    let first_of = |key: &str| format!("FEATURES | map(attribute='{key}') | select | first");
    let parts = ["NAME_FIRST", "NAME_MIDDLE", "NAME_LAST"].map(first_of).join(", ");
    let nested_names =
        format!("{{{{ {} or {} or [{parts}] | select | join(' ') }}}}", first_of("NAME_FULL"), first_of("NAME_ORG"));
    let json_draft = draft.field("name", &nested_names);
    let entity = format!("{{{{ 1 if ({}) == 'ORGANIZATION' else 0 }}}}", first_of("RECORD_TYPE"));
    let json_draft = json_draft.field("entity", &entity);

    let mut reader = csv::Reader::from_path(flat_path).unwrap();
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let bound = csv_draft.mapping().unwrap().bind(&header).unwrap();
    let header = Arc::new(header);
    let flat_rows = reader.records().map(|cells| row(Values::Flat { header: header.clone(), cells: cells.unwrap() }));
    let flat_keys = keys(&bound, flat_rows);

    let bound = json_draft.mapping().unwrap().bind_nested(&["FEATURES".to_owned()]).unwrap();
    let text = fs::read_to_string(nested_path).unwrap();
    let nested_keys = keys(&bound, text.lines().map(|line| nested(serde_json::from_str(line).unwrap())));

    assert_eq!(flat_keys.len(), 120);
    assert_eq!(flat_keys, nested_keys);
}

fn keys(bound: &Bound, rows: impl Iterator<Item = Row>) -> Vec<String> {
    let key = |row: Row| match &bound.map(&row).unwrap()[0] {
        Mapped::Ask(ask) => ask.key.to_string(),
        other => panic!("{other:?}"),
    };
    rows.map(key).collect()
}

#[test]
fn the_checksum_agrees_with_public_vectors() {
    let Some(path) = shared("identity/za_id_vectors.csv") else { return };
    let mut count = 0;
    for record in csv::Reader::from_path(path).unwrap().records() {
        let record = record.unwrap();
        let (number, luhn_ok) = (&record[0], &record[3]);
        if luhn_ok.is_empty() {
            assert!(sa_id::check(number).is_err(), "{number}: not even thirteen digits");
            continue;
        }
        let digits: Vec<u32> = number.chars().map(|digit| digit.to_digit(10).unwrap()).collect();
        assert_eq!(sa_id::checksum_holds(&digits).to_string(), luhn_ok, "{number}");
        count += 1;
    }
    assert!(count >= 20, "{count} vectors have the column filled");
}
