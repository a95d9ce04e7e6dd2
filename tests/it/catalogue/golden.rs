//! Each check, from a row through the real client to the simulator: under both dialects, both envelopes, both spellings
//! of the routes and both forms of the key's header. What is sent is compared with a file for each check: method, path,
//! headers and body. `RESCREEN_WRITE_GOLDEN=1` writes the files again.

use crate::support::{
    API_KEY,
    door::{Act, Door, Seen, Step},
    ran::results,
    service::lifted,
    tables::text,
    world::World,
};
use rescreen::{
    catalogue::{Catalogue, Declaration, Spelling},
    client::Auth,
    mapping::FieldSource,
    model::{Credits, ExitCode},
    pipeline::campaign::file::CheckTable,
    simulator::{Dialect, Envelope, ServedRoutes, Settings},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::PathBuf,
};

/// Checks whose requests other tests compare: `jobs::golden` and `files::golden`.
const ELSEWHERE: [&str; 8] = [
    "africa-verification",
    "business-bank-account",
    "facematch",
    "facematch-standard",
    "facematch-verified",
    "foreign-bank-account",
    "id-document",
    "proof-of-address",
];

/// The cells of each check: the check, then its fields, as a row has them.
const CELLS: &str = "
adverse-media name=Thandi Nkosi|entity=person
aml-ongoing-enrol name=Thandi Nkosi|identifier=C-001
aml-ongoing-rescreen name=Thandi Nkosi|identifier=C-001
aml-ongoing-withdraw name=Thandi Nkosi|identifier=C-001
aml-screening name=Thandi Nkosi|entity=0|country=RSA
bank-account firstName=Thandi|surname=Nkosi|identityNumber='800101 5009 087|bankName=First National Bank|bankAccountNumber=0062 1234 567|bankBranchCode=051-001|bankAccountType=Savings
cipc-company registration_number=CK No. 2016/004321/07
cipc-director idNumber=8001015009087
consumer-trace idNumber=8001015009087
consumer-trace-lite idNumber=8001015009087
drivers-licence authority_confirmed=yes|barcode_base64=AZsDBA==
kyc-bundle idNumber=8001015009087
licence-disc report_type=Barcode|include_visual_fields=false|allow_visual_fallback=true|barcode_text=%MVL1CC21%0154%CA123456%
number-plate registrationNumber=M-\u{dc} 1234
property-search idNumber=8001015009087
said-verification idNumber=8001015009087
vehicle-check registrationNumber=ca 123-456|vin=1m8gdm9axkp042788
vin-decode vin=1M8GDM9AXKP042788
";

/// A check with its fields and their cells.
fn cells() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    let check = |line: &'static str| {
        let (check, fields) = line.split_once(' ').unwrap();
        (check, fields.split('|').map(|field| field.split_once('=').unwrap()).collect())
    };
    CELLS.lines().filter(|line| !line.is_empty()).map(check).collect()
}

/// A request as the service received it, without the headers that differ from run to run.
#[derive(Debug)]
struct Sent {
    path: String,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Sent {
    fn of(seen: Seen) -> Sent {
        let shown = seen.headers.iter().filter(|(name, _)| !["host", "content-length"].contains(&name.as_str()));
        let headers = shown.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
        Sent { path: seen.path, headers, body: String::from_utf8(seen.body).unwrap() }
    }

    /// The check that it is for.
    fn check<'a>(&self, checks: impl Iterator<Item = &'a Declaration>) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap();
        let fits = |check: &&Declaration| {
            check.routes.all().any(|path| path == self.path)
                && check.fixed.iter().all(|(name, value)| body.get(name) == Some(value))
                && check.fields.iter().all(|field| !field.required || body.get(&field.name).is_some())
        };
        checks.filter(fits).max_by_key(|check| check.fixed.len()).unwrap_or_else(|| panic!("{self:?}")).name.clone()
    }

    fn as_text(&self) -> String {
        let mut text = format!("POST {}\n", self.path);
        for (name, value) in &self.headers {
            writeln!(text, "{name}: {value}").unwrap();
        }
        text + "\n" + &self.body + "\n"
    }
}

/// The requests for one row and every check, by check. Every answer is understood and charged once.
async fn sent(
    settings: Settings,
    (spelling, auth): (Spelling, Auth),
    declarations: Vec<Declaration>,
) -> BTreeMap<String, Sent> {
    let door = Door::with(settings, |_, _| Act::Pass);
    let cells = cells();
    let column = |check: &str, field: &str| format!("{check} {field}");
    let mut header = vec!["no".to_owned()];
    let mut row = vec!["1".to_owned()];
    let mut checks = Vec::new();
    for (check, fields) in &cells {
        let mut table = CheckTable::of(check);
        for (field, cell) in fields {
            header.push(column(check, field));
            row.push((*cell).to_owned());
            table.fields.insert((*field).to_owned(), FieldSource::Column(column(check, field)));
        }
        checks.push(table);
    }
    let replaced = declarations.clone();
    let mut world = World::new()
        .csv(&format!("{}\n{}\n", header.join(","), row.join(",")))
        .campaign(|file| {
            file.budget.prices = checks.iter().map(|check| (check.check.clone(), Credits(1))).collect();
            file.checks = checks;
            file.service.routes = spelling;
            file.service.auth = auth;
            file.declarations = replaced;
        })
        .sending_to(&door.url, door.arrivals());
    let ran = world.run().await.exits(ExitCode::Complete).counts(results(cells.len()));
    let stats = door.simulator.stats();
    assert_eq!((stats.charges, stats.double_charges), (cells.len() as u64, 0));
    for line in ran.results() {
        let (check, verdict, finding) = (text(line, "check_name"), text(line, "verdict"), text(line, "finding"));
        assert!(verdict != "unrecognised" && !finding.contains("unclear"), "{check}: {verdict} {finding}");
    }
    let catalogue = declarations.into_iter().fold(Catalogue::built_in(), |all, one| all.with(one).unwrap());
    let sent = door.seen(Step::Check).into_iter().map(Sent::of);
    let by_check: BTreeMap<String, Sent> = sent.map(|sent| (sent.check(catalogue.iter()), sent)).collect();
    assert_eq!(by_check.len(), cells.len(), "one request for each check");
    by_check
}

fn golden(check: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/requests/{check}.http"))
}

#[test]
fn every_check_has_cells() {
    let has: BTreeSet<&str> = cells().into_iter().map(|(check, _)| check).chain(ELSEWHERE).collect();
    let catalogue = Catalogue::built_in();
    let all: BTreeSet<&str> = catalogue.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(has, all);
}

#[tokio::test]
async fn what_is_sent_is_the_golden_request() {
    let sent = sent(lifted(), (Spelling::Guide, Auth::XApiKey), Vec::new()).await;
    for (check, sent) in &sent {
        if std::env::var_os("RESCREEN_WRITE_GOLDEN").is_some() {
            fs::create_dir_all(golden(check).parent().unwrap()).unwrap();
            fs::write(golden(check), sent.as_text()).unwrap();
        }
        let wanted = fs::read_to_string(golden(check)).unwrap_or_default();
        assert_eq!(sent.as_text(), wanted, "{check}: RESCREEN_WRITE_GOLDEN=1 writes the file");
    }
}

#[tokio::test]
async fn every_check_is_sent_the_same_way_under_every_dialect_spelling_and_header() {
    let catalogue = Catalogue::built_in();
    for place in 0..16 {
        let bit = |at: usize| place >> at & 1 == 1;
        let settings = Settings {
            dialect: if bit(0) { Dialect::Field } else { Dialect::Described },
            envelope: if bit(1) { Envelope::DataMeta } else { Envelope::Results },
            api_key: Some(API_KEY.to_owned()),
            ..lifted()
        };
        let spelling = if bit(2) { Spelling::Alternate } else { Spelling::Guide };
        let auth = if bit(3) { Auth::Bearer } else { Auth::XApiKey };
        for (check, sent) in sent(settings, (spelling, auth), Vec::new()).await {
            let wanted = fs::read_to_string(golden(&check)).unwrap();
            let (head, body) = wanted.split_once("\n\n").unwrap();
            assert_eq!(sent.body, body.trim_end(), "{check}");
            assert_eq!(sent.path, catalogue.get(&check).unwrap().routes.path(spelling), "{check}");
            let key = head.lines().find_map(|line| line.strip_prefix("idempotency-key: ")).unwrap();
            assert_eq!(sent.headers["idempotency-key"], key, "{check}");
            let (own, other, value) = match auth {
                Auth::XApiKey => ("x-api-key", "authorization", API_KEY.to_owned()),
                Auth::Bearer => ("authorization", "x-api-key", format!("Bearer {API_KEY}")),
            };
            assert_eq!((sent.headers.get(own), sent.headers.get(other)), (Some(&value), None), "{check}");
        }
    }
}

/// The corrections that docs/campaign-file.md shows, for the routes that were seen in practice.
fn corrected() -> Vec<Declaration> {
    let catalogue = Catalogue::built_in();
    let corrected = |check: &str, path: &str, field: &str, value: &str| {
        let mut declaration = catalogue.get(check).unwrap().clone();
        declaration.routes.guide = path.to_owned();
        declaration.routes.alternate = None;
        declaration.assumed_parts = Vec::new();
        declaration.fixed.insert(field.to_owned(), value.into());
        declaration
    };
    vec![
        corrected("cipc-director", "/cipc", "reportType", "cipc_director_search"),
        corrected("number-plate", "/vehicle", "bundle", "vehicle_lookup"),
        corrected("vin-decode", "/vehicle", "bundle", "vehicle_lookup"),
    ]
}

#[tokio::test]
async fn with_corrected_declarations_every_check_works_on_the_routes_that_were_seen() {
    let settings = Settings { dialect: Dialect::Field, routes: ServedRoutes::Seen, ..lifted() };
    let sent = sent(settings, (Spelling::Guide, Auth::XApiKey), corrected()).await;
    for (check, path) in [("number-plate", "/vehicle"), ("vin-decode", "/vehicle"), ("cipc-director", "/cipc")] {
        assert_eq!(sent[check].path, path);
    }
}
