//! What to do after a plan: the command that continues, or what must be corrected before there is one.

use crate::cli::{next_command::remedied, program::program, wrap};
use rescreen::{
    model::{ExitCode, shell_words::quoted},
    pipeline::{AccountSeen, Obstacle, Plan, outlook},
};
use std::path::Path;

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// This command continues.
    Run(String),
    /// The API key is missing. This command rehearses without one.
    Rehearse(String),
    /// Something must be corrected first. This command plans again.
    PlanAgain(String),
    /// Nothing is left to do in this campaign.
    Nothing,
}

/// A command of more characters is long: it takes more than two lines of a usual screen.
const LONG: usize = 160;

impl Next {
    /// The last lines of a plan, on a page of this many columns. `can_save` says whether `--save` could write the settings to a campaign file.
    pub fn lines(&self, can_save: bool, columns: usize) -> Vec<String> {
        let (what, command) = match self {
            Next::Run(command) => ("continue with", command),
            Next::Rehearse(command) => ("to rehearse without an API key", command),
            Next::PlanAgain(command) => ("then plan again", command),
            Next::Nothing => return wrap::lines("for a new round of checks, use another --campaign", columns),
        };
        let mut lines = vec![format!("{what}: {command}")];
        if can_save && command.chars().count() > LONG {
            let hint = "add --save rescreen.toml to this plan for a campaign file and a short command";
            lines.extend(wrap::lines(hint, columns));
        }
        lines
    }
}

/// Decides what to do next. `words` is the command line of the plan, `out` the output folder.
pub fn next(words: Vec<String>, out: &Path, plan: &Plan, seen: &AccountSeen, obstacles: &[Obstacle]) -> Next {
    if plan.tree.quarantined > 0 && outlook::exit_code(obstacles) == ExitCode::Doubt {
        return Next::Run(quoted(&[program(), "resolve".to_owned(), out.display().to_string(), "--list".to_owned()]));
    }
    let run = || as_run(words.clone());
    let remedies: Option<Vec<_>> = obstacles.iter().map(|one| one.remedy.clone()).collect();
    match remedies {
        Some(none) if none.is_empty() && plan.tree.rows == 0 => Next::PlanAgain(quoted(&words)),
        // An earlier run has sent everything.
        Some(none) if none.is_empty() && plan.known.is_some() && plan.is_settled() => Next::Nothing,
        Some(remedies) => {
            let mut run = run();
            remedies.iter().for_each(|(flag, value)| remedied(&mut run, flag, value));
            Next::Run(quoted(&run))
        }
        None => {
            let no_key = matches!(seen.api_key, Some(Err(_)));
            let only_key = obstacles.iter().filter(|one| one.exit_code != ExitCode::Budget).count() == 1;
            if no_key && only_key && !words.iter().any(|word| word.starts_with("--simulate")) {
                let mut rehearsal = run();
                let remedies = obstacles.iter().filter_map(|one| one.remedy.as_ref());
                remedies.for_each(|(flag, value)| remedied(&mut rehearsal, flag, value));
                rehearsal.push("--simulate".to_owned());
                return Next::Rehearse(quoted(&rehearsal));
            }
            Next::PlanAgain(quoted(&words))
        }
    }
}

/// The same command line for `run`, without the flags that only `plan` has.
fn as_run(words: Vec<String>) -> Vec<String> {
    const WITH_VALUE: [&str; 3] = ["--show", "--failures", "--save"];
    let mut run: Vec<String> = Vec::new();
    let mut words = words.into_iter();
    let mut is_plan = false;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--" => {
                run.push(word);
                run.extend(words);
                break;
            }
            "plan" if !is_plan => {
                is_plan = true;
                run.push("run".to_owned());
            }
            "--json" => {}
            flag if WITH_VALUE.contains(&flag) => drop(words.next()),
            flag if WITH_VALUE.iter().any(|name| flag.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))) => {
            }
            _ => run.push(word),
        }
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_for_run_has_none_of_the_flags_of_plan() {
        let of = |line: &str| as_run(line.split(' ').map(str::to_owned).collect()).join(" ");
        assert_eq!(of("rescreen plan a.csv --show 3 --json --failures=f.csv --id no"), "rescreen run a.csv --id no");
        assert_eq!(of("rescreen -q plan plan --failures f.csv --show=2"), "rescreen -q run plan");
        assert_eq!(of("rescreen plan -- --show plan"), "rescreen run -- --show plan");
    }
}
