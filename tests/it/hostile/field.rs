//! A service with the faults that public bug reports about other tools describe. It is a separate program that counts its own
//! charges. Skipped with a notice where the cases or Python are not available.

use crate::support::{
    data::shared,
    program::{Said, rescreen},
    tables,
};
use rescreen::sink::DatasetKind;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
};

/// How the service misbehaves, the book, and what is expected of one run: exit code; results, failures and pending rows.
/// Each result is charged once, and nothing else is.
type Case = (&'static str, &'static str, i32, (usize, usize, usize), &'static str);

const CASES: [Case; 35] = [
    ("bom", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("gzip", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("xgzip", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("deflate", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("fakegzip", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("gziplarge", "h-any/twelve.csv", 0, (12, 0, 0), "10 clear, 2 review"),
    ("nan", "h-any/twelve.csv", 0, (12, 0, 0), "12 review"),
    ("nanlarge", "h-any/twelve.csv", 0, (12, 0, 0), "10 clear, 2 review"),
    ("latin1", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("utf16", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("throttle200", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("matches", "h-any/six.csv", 0, (6, 0, 0), ""),
    ("portal", "h-any/twelve.csv", 10, (3, 0, 9), "expected an answer from the service, found something else"),
    (
        "waf",
        "h-any/six.csv",
        10,
        (3, 0, 3),
        "3 requests had replies that are not the service's (HTTP 403: \"Attention Required\")",
    ),
    ("waf", "h-any/twelve.csv", 10, (3, 0, 9), "(HTTP 403: \"Attention Required\")"),
    ("redirect301", "h-any/six.csv", 10, (0, 0, 6), "redirects /aml-screening (HTTP 30"),
    ("redirect307", "h-any/six.csv", 10, (0, 0, 6), "redirects /aml-screening (HTTP 30"),
    ("retry:0", "h-any/six.csv", 0, (6, 0, 0), ""),
    ("retry:2", "h-any/six.csv", 0, (6, 0, 0), ""),
    ("retry:1.5", "h-any/six.csv", 0, (6, 0, 0), ""),
    ("retry:-1", "h-any/six.csv", 0, (6, 0, 0), ""),
    ("retry:soon", "h-any/six.csv", 0, (6, 0, 0), ""),
    ("retry:1|3", "h-any/six.csv", 0, (6, 0, 0), ""),
    ("retry:999999", "h-any/six.csv", 10, (2, 0, 4), "--lift-pause"),
    ("skewed", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("cf429", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("cf429json", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("maint503", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("closer", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("cutbody", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("inprogress", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("gateway504", "h-any/twelve.csv", 0, (12, 0, 0), ""),
    ("lowfunds", "h-any/twelve.csv", 6, (3, 5, 4), "Your credit balance is too low"),
    ("flaky1", "h-any/unlucky.csv", 8, (3, 0, 1), ""),
    ("refuse1", "c11-fixed-row/before.csv", 3, (2, 2, 0), "2 of 4 asks failed"),
];

/// Starts the service at a port that the system chooses while the service binds it, and prints that port. A port that is
/// found free beforehand may belong to another service when this one starts.
const START: &str = "
import runpy, socket, sys
class Told(socket.socket):
    def listen(self, *waiting):
        super().listen(*waiting)
        print(self.getsockname()[1], flush=True)
socket.socket = Told
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name='__main__')
";

/// The service. It ends with the test.
struct BadService {
    process: Child,
    url: String,
}

impl Drop for BadService {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

impl BadService {
    fn start(program: &Path, mode: &str, log: &Path) -> BadService {
        let mut command = Command::new("python3");
        command.args(["-c", START]).arg(program).args([mode, "0"]).arg(log).args(["--seconds", "300"]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        BadService { process, url: format!("http://127.0.0.1:{}", port.trim_end()) }
    }
}

fn faults(folder: &Path, &(mode, book, code, rows, says): &Case) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let log = place.path().join("server.jsonl");
    let service = BadService::start(&folder.join("_tools/badservice.py"), mode, &log);
    let book = folder.join(book).display().to_string();
    let campaign = "--campaign field --format jsonl --mode production --yes --max-credits 100 --price aml-screening=1 \
         --check aml-screening --map name=full_name --map country=country --set entity=0 --id customer_no \
         --per-minute 6000 --per-minute-max 6000 --in-flight 1";
    let fixed = ["run", &book, "--service", &service.url];
    let arguments: Vec<&str> = fixed.into_iter().chain(campaign.split_whitespace()).collect();
    let said = Said::of(&mut rescreen(place.path(), &arguments));
    let out = place.path().join("out/field");
    let count = |kind| tables::lines(&out, kind).len();
    let found_rows = (count(DatasetKind::Results), count(DatasetKind::Failures), count(DatasetKind::Pending));
    let mut faults = Vec::new();
    if (said.code, found_rows) != (code, rows) {
        faults.push(format!(
            "found exit {} and {found_rows:?}, expected {code} and {rows:?}: {}",
            said.code, said.stderr
        ));
    }
    if !said.stderr.contains(says) {
        faults.push(format!("it does not say `{says}`: {}", said.stderr));
    }
    // The service's own book.
    let lines = fs::read_to_string(&log).unwrap();
    let requests: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let charged = requests.iter().filter(|request| request["charged"] == true).count();
    if charged != rows.0 {
        faults.push(format!("{charged} charges for {} results", rows.0));
    }
    let mut bodies: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for request in &requests {
        if let (Some(key), Some(body)) = (request["key"].as_str(), request["body"].as_str()) {
            bodies.entry(key).or_default().insert(body);
        }
    }
    if bodies.values().any(|bodies| bodies.len() > 1) {
        faults.push("one key has two bodies".to_owned());
    }
    faults
}

#[test]
#[ignore = "make hostile"]
fn a_service_that_misbehaves_as_reported_charges_each_result_once_and_loses_no_row() {
    let Some(folder) = shared("field") else { return };
    if Command::new("python3").arg("--version").output().is_err() {
        return eprintln!("SKIPPED: python3 is not installed");
    }
    let folder = &folder;
    // Most of the time passes in pauses.
    let wrong: Vec<String> = thread::scope(|scope| {
        let runs = CASES.each_ref().map(|case| scope.spawn(move || (case, faults(folder, case))));
        let ended = runs.into_iter().flat_map(|run| {
            let (case, found) = run.join().unwrap();
            found.into_iter().map(move |fault| format!("{} with {}: {fault}", case.0, case.1))
        });
        ended.collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
