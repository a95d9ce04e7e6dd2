//! The command that continues a stopped run. Every stop prints it, ready to be copied.

use super::{
    campaign_args::CAMPAIGN_FILE,
    program::{called, program},
};
use rescreen::{
    model::{ExitCode, Stop, budget::BudgetRefusal, shell_words::quoted},
    pipeline::RunReport,
};
use std::path::Path;

/// The command line as it was typed, with the flags this stop requires. If only a person's decision helps, it is the
/// command that lists the requests to decide on.
pub fn next_command(words: &[String], report: &RunReport) -> String {
    if let Some(decision) = report.decision_command() {
        return quoted(&called(decision));
    }
    if let Some(mut collect) = report.collect_command() {
        collect.extend(config_of(words).map(|file| ["-c".to_owned(), file]).into_iter().flatten());
        return quoted(&called(collect));
    }
    let runs_again = report.leaves_rows() && !report.command.is_empty();
    let mut words = again(if runs_again { &report.command } else { words });
    // `--limit` stays if anything else is left to settle, so that no more rows are read than requested.
    if report.limit_rows.is_some() && report.exit_code == ExitCode::TimeIsUp && report.sent.stops.is_empty() {
        forget(&mut words, "--limit");
    }
    // The next question about a job may be later than this command lasted.
    if report.remarks.collected && report.waits_for_jobs() && has(&words, "--for") {
        set(&mut words, "--for", "2h");
    }
    // `collect` sends no new request, and has none of these flags.
    let stops = if report.remarks.collected && !runs_again { &[][..] } else { &report.sent.stops };
    for stop in stops {
        match stop {
            Stop::Budget(BudgetRefusal::Limit { .. }) => {
                let needed = report.credits_needed().unwrap_or_default();
                set(&mut words, "--max-credits", &needed.to_string());
            }
            stop => {
                if let Some((flag, value)) = stop.remedy() {
                    remedied(&mut words, &flag, &value);
                }
            }
        }
    }
    quoted(&words)
}

/// A command line with the flag that removes the cause of a stop. A flag such as `--price CHECK=N` may be given for other
/// checks too.
pub fn remedied(words: &mut Vec<String>, flag: &str, value: &str) {
    if value.contains('=') {
        forget_value(words, flag, value);
        words.extend([flag.to_owned(), value.to_owned()]);
    } else {
        set(words, flag, value);
    }
}

/// The same command line, without the flags that apply once: from now on there is a known ledger, it has the
/// corrections, and a stop after this run is another one, which the user has not seen.
pub fn again(words: &[String]) -> Vec<String> {
    let applies = |word: &&String| {
        !["--new-ledger", "--accept-older-ledger", "--continue-anyway", "--change-ids"].contains(&word.as_str())
    };
    let mut words: Vec<String> = words.iter().filter(applies).cloned().collect();
    forget(&mut words, "--corrections");
    forget(&mut words, "--service-moved-from");
    words
}

/// The campaign file of a command line: it says where the API key, the inbox and the declarations are.
fn config_of(words: &[String]) -> Option<String> {
    let named = words.iter().find_map(|word| word.strip_prefix("--config=").map(str::to_owned));
    let after = words.windows(2).find(|pair| ["-c", "--config"].contains(&pair[0].as_str()));
    let is_here = words.get(1).is_some_and(|word| word == "run") && Path::new(CAMPAIGN_FILE).is_file();
    named.or_else(|| after.map(|pair| pair[1].clone())).or_else(|| is_here.then(|| CAMPAIGN_FILE.to_owned()))
}

/// Removes a flag with a value for the same name as `NAME=VALUE`, in either spelling.
fn forget_value(words: &mut Vec<String>, flag: &str, value: &str) {
    let name = value.split_once('=').map_or(value, |(name, _)| name);
    let is_same = |value: &str| value.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
    let is_one_word = |word: &str| word.strip_prefix(flag).and_then(|rest| rest.strip_prefix('=')).is_some_and(is_same);
    words.retain(|word| !is_one_word(word));
    while let Some(at) = words.windows(2).position(|pair| pair[0] == flag && is_same(&pair[1])) {
        words.drain(at..at + 2);
    }
}

/// Removes a flag with its value.
fn forget(words: &mut Vec<String>, flag: &str) {
    words.retain(|word| !word.starts_with(&format!("{flag}=")));
    while let Some(at) = words.iter().position(|word| word == flag) {
        words.drain(at..words.len().min(at + 2));
    }
}

fn has(words: &[String], flag: &str) -> bool {
    words.iter().any(|word| word == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')))
}

/// Sets a flag's value, adding the flag if it is missing.
fn set(words: &mut Vec<String>, flag: &str, value: &str) {
    if let Some(at) = words.iter().position(|word| word == flag)
        && at + 1 < words.len()
    {
        words[at + 1] = value.to_owned();
    } else if let Some(at) = words.iter().position(|word| word.starts_with(&format!("{flag}="))) {
        words[at] = format!("{flag}={value}");
    } else {
        words.extend([flag.to_owned(), value.to_owned()]);
    }
}

/// The command line of this process as a rehearsal.
pub fn rehearsal() -> String {
    let mut words = typed();
    words.push("--simulate".to_owned());
    quoted(&words)
}

/// The command line of this process, ready to be copied.
pub fn typed() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once(program()).chain(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_applies_once_is_not_in_the_command_that_continues() {
        let of = |line: &str| again(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).join(" ");
        assert_eq!(of("rescreen run -y --corrections a.csv --new-ledger --id no"), "rescreen run -y --id no");
        assert_eq!(of("rescreen run --corrections=a.csv"), "rescreen run");
    }

    #[test]
    fn the_campaign_file_of_a_command_is_found_in_every_spelling() {
        let of = |line: &str| config_of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for line in ["rescreen run -c a.toml --yes", "rescreen run --config a.toml", "rescreen run --config=a.toml"] {
            assert_eq!(of(line).as_deref(), Some("a.toml"), "{line}");
        }
        assert_eq!(of("rescreen run book.csv"), None);
    }

    #[test]
    fn removing_a_price_removes_its_flag_and_keeps_the_other_prices() {
        let mut words: Vec<String> =
            ["--price", "a=1", "--price=a=2", "--price", "b=3", "-y", "a=4"].map(str::to_owned).into();
        forget_value(&mut words, "--price", "a=5");
        assert_eq!(words, ["--price", "b=3", "-y", "a=4"]);
    }

    #[test]
    fn a_flag_is_removed_with_its_value_in_either_format() {
        let mut words: Vec<String> = ["run", "--limit", "4", "--limit=5", "-y", "--limit"].map(str::to_owned).into();
        forget(&mut words, "--limit");
        assert_eq!(words, ["run", "-y"]);
    }

    #[test]
    fn a_flag_is_replaced_in_place_or_added() {
        let mut words = vec!["--max-credits".to_owned(), "4".to_owned()];
        set(&mut words, "--max-credits", "9");
        assert_eq!(words, ["--max-credits", "9"]);
        let mut words = vec!["--max-credits=4".to_owned()];
        set(&mut words, "--max-credits", "9");
        assert_eq!(words, ["--max-credits=9"]);
        let mut words = vec![];
        set(&mut words, "--max-credits", "9");
        assert_eq!(words, ["--max-credits", "9"]);
    }
}
