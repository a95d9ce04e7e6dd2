//! What a plan costs: reading, mapping and keys of a whole book, and nothing sent. Beside it the csv crate alone.

use super::{
    bare::csv_loop,
    parameters::Parameters,
    stage::{Stage, Terms, UNLIMITED},
    table::{Line, mebibytes},
    watched::watch,
};
use rescreen::pipeline::wording::grouped;

/// What 10,000,000 rows may take.
const SECONDS_MAX: f64 = 20.0;
const ROWS_OF_GOAL: u64 = 10_000_000;

pub fn measure(parameters: &Parameters) -> Vec<Line> {
    parameters.sizes(&[1_000_000, ROWS_OF_GOAL]).into_iter().flat_map(lines).collect()
}

fn lines(rows: u64) -> Vec<Line> {
    let stage = Stage::of_columns(rows);
    // Nobody listens there: a plan sends nothing, and says so where it may not look at the balance.
    stage.set(&Terms { url: "http://127.0.0.1:9", rate: UNLIMITED, in_flight: 64 });
    // The book is read once before, so that both find it in the cache.
    let (read, _) = csv_loop(&stage.book());
    assert_eq!(read, rows);
    let (_, of_csv) = csv_loop(&stage.book());
    let ran = watch(&mut stage.rescreen("plan"), stage.path(), |_| {});
    assert_eq!(ran.code, Some(0), "it ended otherwise:\n{}", ran.talk);
    let distinct = format!("requests        {:>12}", grouped(rows));
    assert!(ran.talk.contains(&distinct), "expected every row a request of its own:\n{}", ran.talk);
    let what = |text: &str| format!("plan of {} rows: {text}", grouped(rows));
    let seconds = ran.lasted.as_secs_f64();
    let time = match rows {
        ROWS_OF_GOAL => Line::most("P7", what("time"), seconds, SECONDS_MAX, "s"),
        _ => Line::plain("P7", what("time"), super::table::written(seconds, "s")),
    };
    vec![
        time,
        Line::least("P7", what("speed, of the csv loop's"), of_csv.as_secs_f64() / seconds, 0.1, ""),
        Line::most("P7", what("peak memory"), mebibytes(ran.peak_bytes.unwrap_or_default()), 64.0, "MiB"),
    ]
}
