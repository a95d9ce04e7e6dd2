//! The promise: a campaign decides once where the whole answers are in its outputs. Wherever they are, the ledger keeps
//! them, and an export writes them.

use crate::support::{
    ran::results,
    tables::{self, files, text},
    world::{AML, World},
};
use rescreen::{
    model::ExitCode,
    pipeline::{ExportOrder, export},
    sink::{AnswerOutput, DatasetKind, OutputFormat},
};
use std::{collections::BTreeMap, fs};

fn with(answer: AnswerOutput, rows: usize) -> World {
    World::new().rows(rows).campaign(|file| file.output.answer = answer)
}

#[tokio::test]
async fn answers_are_a_dataset_whose_parts_belong_to_those_of_the_results() {
    for format in [OutputFormat::Parquet, OutputFormat::Jsonl] {
        let mut world = with(AnswerOutput::Dataset, 5).max_credits(2).campaign(|file| {
            file.output.format = Some(format);
            file.output.sent = Some(false);
        });
        world.run().await.exits(ExitCode::Budget).counts(results(2).pending(3));
        let mut world = world.max_credits(100);
        let ran = world.run().await.exits(ExitCode::Complete).counts(results(5)).adds_up(true);
        for name in ["answer", "sent"] {
            assert!(ran.results().iter().all(|line| !line.contains_key(name)), "{name} is not in the results");
        }
        let manifest = ran.manifest();
        let [of_results, of_answers] = [DatasetKind::Results, DatasetKind::Answers]
            .map(|kind| manifest.datasets.iter().find(|one| one.kind == kind).unwrap());
        assert_eq!(of_answers.check.as_deref(), Some(AML));
        let paths = |parts: &[rescreen::sink::Part]| -> Vec<String> {
            parts.iter().map(|part| part.path.split_once('/').unwrap().1.to_owned()).collect()
        };
        assert_eq!(paths(&of_results.parts), paths(&of_answers.parts));
        let mut on_disk: Vec<String> =
            files(&ran.out, "answers").iter().map(|path| path.display().to_string()).collect();
        on_disk.sort();
        assert_eq!(on_disk, of_answers.parts.iter().map(|part| part.path.clone()).collect::<Vec<_>>());
        let answers = tables::lines(&ran.out, DatasetKind::Answers);
        let columns: Vec<&String> = answers[0].keys().collect();
        assert_eq!(columns, ["result_id", "campaign", "mode", "check_name", "subject", "answer"]);
        let by_id: BTreeMap<&str, &tables::Line> = answers.iter().map(|line| (text(line, "result_id"), line)).collect();
        let spec = of_results.answer_digest.as_ref().unwrap();
        for line in ran.results() {
            let answer = serde_json::from_str(text(by_id[text(line, "result_id")], "answer")).unwrap();
            assert_eq!(text(line, "answer_digest"), spec.digest(&answer));
        }
    }
}

#[tokio::test]
async fn a_file_of_answers_that_is_gone_is_written_again_with_the_same_bytes() {
    let mut world = with(AnswerOutput::Dataset, 3);
    let ran = world.run().await.exits(ExitCode::Complete);
    let part = ran.out.join(&files(&ran.out, "answers")[0]);
    let before = fs::read(&part).unwrap();
    fs::remove_file(&part).unwrap();
    world.run().await.exits(ExitCode::Complete).counts(results(3)).adds_up(true);
    assert_eq!(fs::read(&part).unwrap(), before);
    fs::write(&part, "changed").unwrap();
    let changed = world.run().await;
    assert!(changed.error().contains("part-000001"), "a changed file is found: {}", changed.error());
}

#[tokio::test]
async fn without_answers_the_results_have_none_and_an_export_has_all() {
    let mut world = with(AnswerOutput::None, 3).campaign(|file| file.output.sent = Some(false));
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(3)).adds_up(true);
    assert!(files(&ran.out, "answers").is_empty());
    assert!(ran.results().iter().all(|line| !line.contains_key("answer") && text(line, "answer_digest").len() == 32));
    let to = world.path("exported");
    export(&ExportOrder::of(&ran.out, &to), &|| None).unwrap();
    let exported = tables::lines(&to, DatasetKind::Results);
    assert!(
        exported.iter().all(|line| text(line, "answer").contains("results") && text(line, "sent").contains("name"))
    );
}

#[tokio::test]
async fn the_place_of_the_answers_cannot_be_changed_later() {
    let mut world = with(AnswerOutput::Column, 2);
    world.run().await.exits(ExitCode::Complete);
    let mut world = world.campaign(|file| file.output.answer = AnswerOutput::Dataset);
    let error = world.run().await.error();
    assert!(error.contains("`answer` of [output] was \"column\" and is now \"dataset\""), "{error}");
    let mut world = world.campaign(|file| {
        file.output.answer = AnswerOutput::Column;
        file.output.sent = Some(false);
    });
    let error = world.run().await.error();
    assert!(error.contains("`sent` of [output] was true and is now false"), "{error}");
}
