//! The cost of a plan: it reads and maps a whole input and computes its keys, and sends nothing. Compared with the csv
//! crate alone.

use super::{
    bare::csv_loop,
    parameters::Parameters,
    stage::{Stage, Terms, UNLIMITED},
    table::{Line, mebibytes},
    watched::watch,
};
use rescreen::pipeline::wording::grouped;

/// The most seconds for 10,000,000 rows.
const SECONDS_MAX: f64 = 20.0;
const ROWS_OF_GOAL: u64 = 10_000_000;

pub fn measure(parameters: &Parameters) -> Vec<Line> {
    parameters.sizes(&[1_000_000, ROWS_OF_GOAL]).into_iter().flat_map(lines).collect()
}

fn lines(rows: u64) -> Vec<Line> {
    let stage = Stage::of_columns(rows);
    // No server listens there: a plan sends nothing, and reports that it could not read the balance.
    stage.set(&Terms { url: "http://127.0.0.1:9", rate: UNLIMITED, in_flight: 64 });
    // The input is read once before, so that both find it in the cache.
    let (read, _) = csv_loop(&stage.book());
    assert_eq!(read, rows);
    let (_, of_csv) = csv_loop(&stage.book());
    let ran = watch(&mut stage.rescreen("plan"), stage.path(), |_| {});
    assert_eq!(ran.code, Some(0), "unexpected exit code:\n{}", ran.output);
    let distinct = format!("requests        {:>12}", grouped(rows));
    assert!(ran.output.contains(&distinct), "expected one request for each row:\n{}", ran.output);
    let what = |text: &str| format!("plan of {} rows: {text}", grouped(rows));
    let seconds = ran.lasted.as_secs_f64();
    let time = match rows {
        ROWS_OF_GOAL => Line::most("P7", what("time"), seconds, SECONDS_MAX, "s"),
        _ => Line::plain("P7", what("time"), super::table::written(seconds, "s")),
    };
    vec![
        time,
        Line::least("P7", what("speed, as a share of the csv loop's"), of_csv.as_secs_f64() / seconds, 0.1, ""),
        Line::most("P7", what("peak memory"), mebibytes(ran.peak_bytes.unwrap_or_default()), 64.0, "MiB"),
    ]
}
