//! Help as a newcomer reads it, word for word.

use crate::support::program::{Said, rescreen};
use rescreen::template::reference::{FILTERS, FUNCTIONS, OBJECT_METHODS, TEXT_METHODS};

fn help(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let said = Said::of(&mut rescreen(folder.path(), arguments)).exits(0);
    assert_eq!(said.stderr, "");
    said.stdout.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_help_of_the_program() {
    insta::assert_snapshot!(help(&["--help"]), @r#"
    Run paid checks on lists of customers, companies or vehicles through a rate-limited verification
    service. Every row is answered or accounted for, and nothing is paid for twice

    Usage: rescreen [OPTIONS] <COMMAND>

    Commands:
      demo           Run a sample campaign against the built-in simulator, in less than a minute
      plan           Show what a run would do and cost, without sending any checks
      run            Run a campaign, or resume it
      collect        Finish requests that were already sent, get the results of jobs, and publish, using
                     only the ledger
      export         Publish all results of a campaign into a new folder, judged by the current
                     declarations
      status         Show the state of a campaign
      resolve        Decide what to do with requests that may have been charged, or correct a charge
      checks         List the available checks, or describe one
      templates      Explain the language of templates, with every filter and method
      doctor         Examine the service and this machine before a campaign, in sandbox and at no credit
      credits        Print the account's balance
      listen         Receive the service's deliveries about jobs, so that their results are read sooner
      retry-webhook  Ask the service to deliver the results of jobs again, at no credit
      simulate       Run a simulator of the service on this machine, for rehearsals
      help           Print this message or the help of the given subcommand(s)

    Options:
      -q, --quiet                Print only what went wrong and how to continue
      -v, --verbose...           Log each step; twice (-vv), also log every request
          --log-format <FORMAT>  Log format [default: text] [possible values: text, json]
      -h, --help                 Print help
      -V, --version              Print version
    "#);
}

#[test]
fn the_help_on_templates_has_every_filter_and_method_on_a_page_of_80_columns() {
    let page = help(&["help", "templates"]);
    assert_eq!(page, help(&["templates"]));
    assert_eq!(page, help(&["templates", "--help"]));
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    for entry in [FILTERS, TEXT_METHODS, OBJECT_METHODS, FUNCTIONS].concat() {
        assert!(page.contains(&format!("\n  {} ", entry.name)) && page.contains(entry.about), "{}", entry.name);
        assert!(page.contains(entry.example) && page.contains(entry.result.trim_end()), "{}", entry.example);
    }
    assert!(page.contains(r#"{{ row["Full name"] }}  gives  Merwe, Thandi"#), "{page}");
}

#[test]
fn the_help_of_run() {
    insta::assert_snapshot!(help(&["run", "--help"]), @r#"
    Run a campaign, or resume it

    Usage: rescreen run [OPTIONS] [INPUT]...

    Arguments:
      [INPUT]...  Input files: CSV or JSON Lines (also .gz or .zst), or .xlsx; `-` is standard input

    Options:
      -c, --config <FILE>                Campaign file [default: rescreen.toml in the working folder, if
                                         there is one]
          --check <NAME>                 Check to run (see `rescreen checks`); repeatable
          --map <FIELD=COLUMN|TEMPLATE>  Fill a field from a column or a template; with several checks,
                                         NAME.FIELD=…
          --set <FIELD=CONSTANT>         Fill a field with a constant; with several checks, NAME.FIELD=…
          --campaign <NAME>              Name of this round of checks, such as 2026-11; you can run it
                                         many times and pay only once
          --mode <MODE>                  `sandbox` (free, returns fixture data) or `production`
                                         [default: sandbox]
          --max-credits <N>              Maximum credits the campaign may cost, over all its runs
          --keep-balance <N>             Send no new request that could take the account's balance below
                                         this
          --price <CHECK=N>              Price of a check in credits; repeatable
          --per-minute <N>               Rate limit: steady rate in requests per minute; without
                                         --per-minute-max, the maximum is twice this
          --per-minute-max <N>           Rate limit: maximum requests in any one minute
          --in-flight <N>                Maximum number of concurrent requests
          --consent-evidence <REF>       Evidence that every person consented, such as the number of a
                                         form; needed if one value confirms the consent of every row
          --id <COLUMN>                  Column that identifies a row; copied to `subject` in the
                                         outputs
          --carry <COLUMNS|NAME=COLUMN>  Input columns to copy into the results, comma-separated;
                                         NAME=COLUMN gives one another name
          --limit <ROWS>                 Read only the first ROWS rows of each input
          --expect-rows <N|MIN..MAX>     Send nothing unless the input has this many rows
          --max-errors <N|N%>            Stop when more than this many rows cannot be mapped or requests
                                         are refused [default: 25%, after the first 50]
          --max-unrecognised <N|N%>      Stop when more than this many answers are not recognised
                                         [default: 1%]
          --accept-failures <N|N%>       Exit 0 if no more than this many asks failed
          --out <DIR>                    Output folder [default: out/<campaign>]
          --format <FORMAT>              Output format: `parquet` or `jsonl` [default: parquet]
          --delimiter <CHAR>             CSV delimiter [default: detected]
          --encoding <ENCODING>          Input encoding: utf-8, utf-16 or windows-1252 [default: utf-16
                                         if the file has its byte order mark, else utf-8]
          --no-header                    Read the first line of the input as a row, not as a header
          --columns <NAMES>              Column names for an input without a header, comma-separated
          --header-row <N>               Line (or row of the sheet) that has the column names; the lines
                                         above it are not read [default: 1]
          --skip-rows <N>                Do not read the first N lines (or rows of the sheet)
          --skip-footer <N>              Do not read the last N rows
          --sheet <NAME>                 Sheet of the workbook to read [default: the only one with data]
          --files-root <DIR>             Folder that contains the files that rows name; nothing outside
                                         it is read
          --service <URL>                Base URL of the service
          --webhook-url <URL>            Public https URL of `rescreen listen`, to which the service
                                         delivers word of jobs; without it, jobs are only asked for
          --simulate                     Rehearse with the built-in simulator in place of the service
          --retry [<CODE>]               Retry failures that were provably not charged: all of them, or
                                         those with this failure code
          --retry-unproven               With --retry, also retry failures that may have been charged,
                                         which is assumed if the balance fell without explanation
          --for <DURATION>               After this time (such as 50m), send nothing more, wait for
                                         replies, publish and exit
          --stdout                       Also write result rows to standard output as JSON Lines, when
                                         their part is published
          --new-ledger                   Start over if the ledger is lost; existing results are moved to
                                         a subfolder
          --accept-older-ledger          Continue with an older copy of the ledger; requests it does not
                                         record may be paid for again
      -y, --yes                          Do not ask for confirmation before a production run
          --continue-anyway              Send although an earlier run stopped because of a price or a
                                         guard and nothing has changed since
          --lift-pause                   Send even if the service asked an earlier run to wait
          --accept-unrecognised          Publish answers that no rule recognises as final results, with
                                         the verdict `unrecognised`
      -q, --quiet                        Print only what went wrong and how to continue
      -v, --verbose...                   Log each step; twice (-vv), also log every request
          --log-format <FORMAT>          Log format [default: text] [possible values: text, json]
      -h, --help                         Print help
    "#);
}

#[test]
fn the_help_of_simulate() {
    insta::assert_snapshot!(help(&["simulate", "--help"]), @r#"
    Run a simulator of the service on this machine, for rehearsals

    Usage: rescreen simulate [OPTIONS]

    Options:
          --listen <ADDR>        Address to listen on [default: 127.0.0.1:8787]
          --anywhere             Allow an address that other machines can reach
          --key <KEY>            Accept only this API key [default: any]
          --credits <N>          Starting balance in credits [default: 1000000]
          --per-minute <N>       Rate limit: steady rate in requests per minute [default: 60]
          --per-minute-max <N>   Rate limit: maximum requests in any one minute [default: 120]
          --latency <DURATION>   Time that the simulator takes for each check, such as 50ms [default:
                                 0ms]
          --seed <N>             Seed for the answers and faults [default: 1]
          --faults <SPEC>        Faults to inject, such as drop_after:0.01,error502:0.05 [default: ""]
          --job-faults <SPEC>    Faults of jobs and their webhooks, such as
                                 lost:0.1,twice:0.05,late:0.05:30m,early:0.1 or state_404:0.1 [default:
                                 ""]
          --price <CHECK=N>      Price of a check in credits [default: 1]; repeatable
          --dialect <DIALECT>    Response dialect: as documented, or as observed in the field [default:
                                 described] [possible values: described, field]
          --envelope <ENVELOPE>  Response envelope [default: results] [possible values: results, data]
          --routes <SET>         Paths to serve: the first documented spelling, the second, both, or
                                 those observed in the field [default: both, or seen with --dialect
                                 field] [possible values: guide, alternate, both, seen]
          --charge-stated <HOW>  How replies state credits: creditsUsed, only remainingCredits,
                                 meta.credits_spent, or not at all [default: as documented for the
                                 envelope] [possible values: used, remaining, meta, nothing]
          --job-time <DURATION>  Time until a job has a result, such as 20m; after 48 hours it fails
                                 [default: mostly minutes, sometimes hours, drawn from the seed]
          --time-scale <N>       Divide the times of jobs and between deliveries by this: 2880 plays 48
                                 hours in a minute [default: 1]
          --fallback <PERCENT>   Share of real-time checks that cannot be answered at once, in percent
                                 [default: 10]
          --job-fails <PERCENT>  Share of jobs that end without a result, in percent [default: 5]
          --cooldown <DURATION>  How long the same sandbox payload is refused [default: 2s]
          --key-life <DURATION>  How long an idempotency key is kept [default: as documented for the
                                 check]
          --auth <AUTH>          Header of the API key that is accepted [default: both] [possible
                                 values: x-api-key, bearer, both]
          --quirk <NAME=BOOL>    Behaviour that the documentation leaves open: keeps-402, keeps-429,
                                 keeps-5xx, conflict-in-flight, free-balance or job-without-webhook,
                                 each =true or =false; repeatable
      -q, --quiet                Print only what went wrong and how to continue
      -v, --verbose...           Log each step; twice (-vv), also log every request
          --log-format <FORMAT>  Log format [default: text] [possible values: text, json]
      -h, --help                 Print help
    "#);
}
