//! How soon the first request of a small input is sent: from the start of the process until it is armed in the ledger.

use super::{
    answered::first_and_last_attempt,
    parameters::Parameters,
    stage::{Stage, Terms, UNLIMITED, service},
    table::{Line, median},
    watched::watch,
};

const ROWS: u64 = 10;

pub fn measure(parameters: &Parameters) -> Vec<Line> {
    let stage = Stage::of_templates(parameters.rows(ROWS));
    let starts = (0..parameters.pairs.max(1)).map(|_| {
        let service = service(UNLIMITED, "0ms");
        stage.set(&Terms { url: &service.url(), rate: UNLIMITED, in_flight: 64 });
        let ran = watch(stage.rescreen("run").arg("--yes"), stage.path(), |_| {});
        assert_eq!(ran.code, Some(0), "unexpected exit code:\n{}", ran.output);
        let (first, _) = first_and_last_attempt(&stage.ledger(), ran.started_at_us).expect("it sent its rows");
        (first - ran.started_at_us) as f64 / 1e3
    });
    vec![Line::most("P10", "start to first attempt, including the balance query", median(starts), 50.0, "ms")]
}
