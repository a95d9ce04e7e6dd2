//! Rows that cannot be read or mapped are failures with their place in the file. They cost nothing and do not stop
//! other rows. Rows that the condition excludes are skipped.

use crate::support::{
    ran::results,
    tables::{number, text},
    world::{SAID, World, book, people},
};
use rescreen::{
    mapping::FieldSource,
    model::{ExitCode, Stop},
    pipeline::campaign::file::{CheckTable, Share},
    sink::DatasetKind,
};

#[tokio::test]
async fn a_ragged_row_is_one_failure_with_its_line_and_byte_for_all_checks() {
    let good = book(1..=3);
    let offset = good.len();
    let csv = good + "4,torn\n" + "5,\"P00005\nVexford\",active\n" + "6,one,two,three\n" + &people(7..=7);
    let second = CheckTable {
        name: Some("company".into()),
        fields: [
            ("name".to_owned(), FieldSource::from("name")),
            ("entity".to_owned(), FieldSource::Constant(1.into())),
            ("country".to_owned(), FieldSource::Constant("za".into())),
        ]
        .into(),
        ..CheckTable::of("aml-screening")
    };
    let mut world = World::new().csv(&csv).campaign(|file| file.checks.push(second));
    let ran = world.run().await.exits(ExitCode::Failures).charged(10).counts(results(10).failures(2)).adds_up(true);
    assert_eq!((ran.manifest().input.rows, ran.manifest().input.unreadable_rows), (7, 2));

    let failures = ran.failures();
    let places: Vec<[i64; 3]> =
        failures.iter().map(|line| ["row_number", "line", "byte_offset"].map(|column| number(line, column))).collect();
    let sixth = offset + "4,torn\n5,\"P00005\nVexford\",active\n".len();
    assert_eq!(places, [[4, 5, offset as i64], [6, 8, sixth as i64]]);
    for line in failures {
        assert_eq!((text(line, "stage"), text(line, "code")), ("read", "ragged_row"));
        assert!(line["check_name"].is_null() && line["idempotency_key"].is_null());
        assert_eq!((number(line, "attempts"), &line["possibly_charged"]), (0, &false.into()));
    }
    assert!(text(&failures[0], "input").contains("torn"), "what could be read is kept");
}

#[tokio::test]
async fn a_row_without_a_value_or_with_a_wrong_one_is_a_failure_that_costs_nothing() {
    let csv = "no,name,country\n1,P00001 Vexford,za\n2,,za\n3,P00003 Vexford,Wakanda\n4,P00004 Vexford,\n";
    let mut world = World::new().csv(csv).campaign(|file| {
        file.checks[0].fields.insert("country".into(), "country".into());
    });
    let ran = world.run().await.exits(ExitCode::Failures).charged(1).counts(results(1).failures(3)).adds_up(true);
    assert_eq!(ran.failure_codes(), [("missing_value".into(), 2), ("unknown_country".into(), 1)].into());
    for line in ran.failures() {
        let message = text(line, "message");
        assert!(
            !message.contains("Wakanda") && !message.contains("Vexford"),
            "names the column, not the value: {message}"
        );
        assert_eq!(text(line, "stage"), "map");
    }
}

#[tokio::test]
async fn rows_that_the_condition_excludes_are_skipped_with_their_reason() {
    let csv = book(1..=6).replace("3,P00003 Vexford,active", "3,P00003 Vexford,closed");
    let mut world = World::new().csv(&csv).campaign(|file| file.checks[0].when = Some("status == 'active'".into()));
    let ran = world.run().await.exits(ExitCode::Complete).charged(5).counts(results(5).skipped(1)).adds_up(true);
    let skipped = &ran.lines(DatasetKind::Skipped)[0];
    assert_eq!((text(skipped, "subject"), text(skipped, "reason")), ("3", "when: status == 'active'"));
}

#[tokio::test]
async fn when_too_many_rows_cannot_be_read_the_run_stops_before_much_is_spent() {
    let csv = book(1..=30) + &"x\n".repeat(40);
    let mut world = World::new().csv(&csv);
    let ran = world.run().await.exits(ExitCode::Guard);
    let ran = ran.stops_with(|stop| matches!(stop, Stop::TooManyErrors { failed: 40, of: 70, .. }));
    assert_eq!(ran.stats.charges + ran.lines(DatasetKind::Pending).len() as u64, 30);
    let mut world = world.campaign(|file| file.guards.max_errors = Some(Share::Percent(60.0)));
    world.run().await.exits(ExitCode::Failures).charged(30).counts(results(30).failures(40)).adds_up(true);
}

#[tokio::test]
async fn failures_that_were_accepted_beforehand_give_exit_code_0() {
    let mut world = World::new().csv(&(book(1..=3) + "x\n"));
    world.run().await.exits(ExitCode::Failures);
    let mut world = world.campaign(|file| file.guards.accept_failures = Some(Share::Count(1)));
    world.run().await.exits(ExitCode::Complete).charged(3);
    let mut world = world.campaign(|file| file.guards.accept_failures = Some(Share::Count(0)));
    world.run().await.exits(ExitCode::Failures);
}

#[tokio::test]
async fn a_refused_identity_number_is_never_sent() {
    let csv = "no,id_number\n1,8001015009087\n2,8001015009088\n3,80010150090\n4,8013015009087\n";
    let said = CheckTable::of(SAID);
    let mut world = World::new().csv(csv).campaign(|file| file.checks = vec![said]);
    let ran = world.run().await.exits(ExitCode::Failures).charged(1).counts(results(1).failures(3));
    assert_eq!(ran.failure_codes(), [("invalid_value".into(), 2), ("spreadsheet_damage".into(), 1)].into());
    let messages: String = ran.failures().iter().map(|line| text(line, "message").to_owned()).collect();
    assert!(!messages.contains("80010"), "{messages}");
}

#[tokio::test]
async fn a_cell_that_a_template_uses_as_a_pattern_fails_only_its_row() {
    let csv = "no,name,status\n1,A Vexford,%s\n2,B Vexford,%.99999f\n3,C Vexford,%1000000000d\n4,D Vexford,%6s\n";
    let mut world = World::new().csv(csv).campaign(|file| {
        file.checks[0].fields.insert("name".into(), "{{ name }} {{ status | format(1.5) }}".into());
    });
    let ran = world.run().await.exits(ExitCode::Failures).charged(2).counts(results(2).failures(2)).adds_up(true);
    assert_eq!(ran.failure_codes(), [("template_error".into(), 2)].into());
    for line in ran.failures() {
        let message = text(line, "message");
        assert!(message.contains("a width and a precision of at most 1000"), "{message}");
    }
}

#[tokio::test]
async fn a_fixed_mapping_reaches_the_rows_that_could_not_be_mapped() {
    let csv = "no,name,country\n1,P00001 Vexford,za\n2,P00002 Vexford,Wakanda\n3,P00003 Vexford,\n";
    let mut world = World::new().csv(csv).campaign(|file| {
        file.checks[0].fields.insert("country".into(), "country".into());
    });
    world.run().await.exits(ExitCode::Failures).charged(1).counts(results(1).failures(2));
    let mut world = world.campaign(|file| {
        file.checks[0].fields.insert("country".into(), FieldSource::Constant("za".into()));
    });
    world.run().await.exits(ExitCode::Complete).charged(3).counts(results(3)).adds_up(true);
}
