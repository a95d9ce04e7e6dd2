//! Help as a newcomer reads it, word for word.

use crate::support::program::{Said, rescreen};

fn help(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let said = Said::of(&mut rescreen(folder.path(), arguments)).exits(0);
    assert_eq!(said.stderr, "");
    said.stdout.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_help_of_the_program() {
    insta::assert_snapshot!(help(&["--help"]), @r#"
    Takes a whole book of subjects (customers, companies, vehicles) through a paid, rate-limited
    verification service. Every row is answered or accounted for, and nothing is paid for twice

    Usage: rescreen [OPTIONS] <COMMAND>

    Commands:
      demo      Everything on sample data against the built-in simulator, in less than a minute
      plan      Read and map everything, send nothing: what a run would do and cost
      run       Run a campaign, or resume it
      collect   Settle and publish what was sent, from the ledger alone; nothing new is sent
      status    Where a campaign stands
      resolve   Decide about requests that may have been charged, or correct a charge
      checks    The checks there are
      credits   The account's balance
      simulate  The service on loopback: rehearse before you spend
      help      Print this message or the help of the given subcommand(s)

    Options:
      -q, --quiet              Say only what went wrong, and how to continue
      -v, --verbose...         Log what happens; twice: every request
          --log-format <FORM>  The form of the log [default: text] [possible values: text, json]
      -h, --help               Print help
      -V, --version            Print version
    "#);
}

#[test]
fn the_help_of_run() {
    insta::assert_snapshot!(help(&["run", "--help"]), @r#"
    Run a campaign, or resume it

    Usage: rescreen run [OPTIONS] [INPUT]...

    Arguments:
      [INPUT]...  Input files (CSV, JSON lines or .xlsx; also .gz, .zst); `-` is standard input

    Options:
      -c, --config <FILE>                The campaign file; `rescreen.toml` in the working folder is
                                         found by itself
          --check <NAME>                 A check to use (see `rescreen checks`); repeatable
          --map <FIELD=COLUMN|TEMPLATE>  Feed a field from a column or a template; with several checks
                                         NAME.FIELD=…
          --set <FIELD=CONSTANT>         Feed a field with a constant; with several checks NAME.FIELD=…
          --campaign <NAME>              The name of this round of checks, like 2026-11: run it as often
                                         as you like, it pays once
          --mode <MODE>                  `sandbox` (free, fixture data) or `production`
          --max-credits <N>              Credits the campaign may cost, over all its runs
          --keep-balance <N>             Send nothing new while the balance is below this
          --price <CHECK=N>              What a check costs; repeatable
          --per-minute <N>               Requests a minute in the long run
          --per-minute-max <N>           Requests in any minute, at most
          --in-flight <N>                Requests under way at once
          --id <COLUMN>                  The column that identifies a row; fills `subject`
          --carry <COLUMNS>              Columns to carry into the results, parted by commas
          --limit <ROWS>                 Read only the first rows of each input
          --expect-rows <N|MIN..MAX>     Stop before anything is sent unless the input has so many rows
          --max-errors <N|N%>            Stop when more fail than this [default: 25% after 50]
          --max-unrecognised <N|N%>      Stop when more answers than this are not understood [default:
                                         1%]
          --accept-failures <N|N%>       End with exit code 0 although so many failed
          --out <DIR>                    The output folder [default: out/<campaign>]
          --format <FORMAT>              `parquet` or `jsonl`
          --delimiter <SIGN>             The sign between the cells of a CSV [default: found by itself]
          --encoding <ENCODING>          How the input is written: utf-8, utf-16 or windows-1252
                                         [default: utf-8, utf-16 by its mark]
          --no-header                    The first line of the input is a row, not a header
          --columns <NAMES>              The names of the columns where there is no header, parted by
                                         commas
          --sheet <NAME>                 The sheet of a spreadsheet [default: the one with data]
          --service <URL>                The service's base URL
          --simulate                     Rehearse: the built-in simulator takes the place of the service
          --retry [<CODE>]               Ask again for failures that are proven uncharged: all, or those
                                         of one code
          --retry-unproven               With --retry: also failures that may have been charged, as the
                                         balance fell without an explanation
          --for <D>                      Drain, publish and end after this long, like 50m
          --stdout                       Also write the result rows to standard output, as JSON lines,
                                         when their part is published
          --new-ledger                   Begin anew where the ledger is lost; old results are set aside
          --accept-older-ledger          Go on with an older copy of the ledger; what it does not know
                                         may be paid for again
      -y, --yes                          Do not ask before production
          --continue-anyway              Send although an earlier run stopped for a price or a guard and
                                         nothing has changed since
          --lift-pause                   Send although the service asked an earlier run to wait
      -q, --quiet                        Say only what went wrong, and how to continue
      -v, --verbose...                   Log what happens; twice: every request
          --log-format <FORM>            The form of the log [default: text] [possible values: text,
                                         json]
      -h, --help                         Print help
    "#);
}

#[test]
fn the_help_of_simulate() {
    insta::assert_snapshot!(help(&["simulate", "--help"]), @r#"
    The service on loopback: rehearse before you spend

    Usage: rescreen simulate [OPTIONS]

    Options:
          --listen <ADDR>        Where to listen [default: 127.0.0.1:8787]
          --anywhere             Listen also where other machines can reach it
          --key <K>              The one API key that is accepted [default: any]
          --credits <N>          The balance at the start [default: 1000000]
          --per-minute <N>       Messages a minute [default: 60]
          --per-minute-max <N>   Messages in any minute, at most [default: 120]
          --latency <D>          How long a check takes, like 50ms [default: 0ms]
          --seed <N>             Decides answers and faults [default: 1]
          --faults <SPEC>        Faults on demand, like drop_after:0.01,error502:0.05 [default: ""]
          --price <CHECK=N>      What a check costs [default: 1]; repeatable
          --dialect <DIALECT>    Response dialect: as documented, or as observed in the field [default:
                                 described] [possible values: described, field]
          --envelope <ENVELOPE>  Response envelope [default: results] [possible values: results, data]
          --charge-stated <HOW>  How replies state credits: creditsUsed, only remainingCredits,
                                 meta.credits_spent, or not at all [default: as documented for the
                                 envelope] [possible values: used, remaining, meta, nothing]
      -q, --quiet                Say only what went wrong, and how to continue
      -v, --verbose...           Log what happens; twice: every request
          --log-format <FORM>    The form of the log [default: text] [possible values: text, json]
      -h, --help                 Print help
    "#);
}
