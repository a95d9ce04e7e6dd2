//! How much of the rate limit is used, compared with an ideal client that never waits too long and has the service's
//! bucket.

use super::{
    answered::first_and_last_attempt,
    parameters::Parameters,
    stage::{Stage, Terms, service},
    table::Line,
    watched::watch,
};
use rescreen::pipeline::wording::grouped;

/// Steady rate and maximum, in requests per minute, and rows.
const LIMITS: [((u32, u32), u64); 2] = [((600, 720), 720), ((60, 120), 240)];

pub fn measure(parameters: &Parameters) -> Vec<Line> {
    LIMITS.into_iter().flat_map(|(rate, rows)| lines(rate, parameters.rows(rows))).collect()
}

fn lines(rate: (u32, u32), rows: u64) -> Vec<Line> {
    let stage = Stage::of_templates(rows);
    let service = service(rate, "0ms");
    stage.set(&Terms { url: &service.url(), rate, in_flight: 64 });
    let ran = watch(stage.rescreen("run").arg("--yes"), stage.path(), |_| {});
    assert_eq!(ran.code, Some(0), "unexpected exit code:\n{}", ran.output);
    let stats = service.stats();
    let what = |text: &str| format!("{} per minute, {} rows: {text}", rate.0, grouped(rows));
    let refused = stats.by_status.get(&429).copied().unwrap_or_default();
    let lost = rows - stats.charges.min(rows);
    let mut lines = vec![
        Line::most("P4", what("refusals"), refused as f64, 0.0, ""),
        Line::most("P4", what("rows lost"), lost as f64, 0.0, ""),
    ];
    let bucket = u64::from(rate.1 - rate.0);
    let (first, last) =
        first_and_last_attempt(&stage.ledger(), ran.started_at_us).expect("a complete run has attempts");
    let used = what("share of the schedule used");
    lines.push(match stats.requests.checked_sub(bucket) {
        None | Some(0) => Line::none("P4", used, "the bucket alone is enough"),
        Some(paced) => {
            let ideal = paced as f64 * 60.0 / f64::from(rate.0);
            Line::least("P4", used, ideal / ((last - first) as f64 / 1e6), 0.995, "")
        }
    });
    lines
}
