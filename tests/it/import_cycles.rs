//! No file imports in a cycle, modules included, so each file can be read after those it builds on. A name that a
//! `mod.rs` only re-exports counts as an import of the file that defines it.

use crate::tidy::{code_of, test_lines};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// A module by its path, such as `["ledger", "arm"]`.
type Module = Vec<String>;

/// The modules of the crate with their code, and what each imports under which name.
#[derive(Default)]
struct Crate {
    code: BTreeMap<Module, String>,
    /// By module and name: the path that the name refers to, and whether it is re-exported.
    imports: BTreeMap<(Module, String), (Module, Vec<String>)>,
}

/// The paths of a `use`, one for each name.
fn expanded(text: &str) -> Vec<String> {
    let text: String = text.replace(" as ", "@").chars().filter(|c| !c.is_whitespace()).collect();
    let Some((before, group)) = text.split_once('{') else {
        return vec![text.split('@').next().unwrap_or_default().to_owned()];
    };
    let inside = &group[..group.rfind('}').unwrap_or(group.len())];
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for letter in inside.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if letter == ',' && depth == 0 { parts.push(String::new()) } else { parts.last_mut().unwrap().push(letter) }
    }
    let parts = parts.iter().filter(|part| !part.is_empty());
    parts.flat_map(|part| expanded(part)).map(|part| format!("{before}{part}")).collect()
}

impl Crate {
    fn read(folder: &Path, module: &[String], into: &mut Crate) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            let inside: Module = module.iter().cloned().chain([stem.clone()]).collect();
            if path.is_dir() && path.join("Cargo.toml").exists() {
                // Another crate.
            } else if path.is_dir() {
                Crate::read(&path, &inside, into);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !stem.ends_with("_tests") {
                let text = fs::read_to_string(&path).unwrap();
                let code = code_of(&text);
                let tests = test_lines(&code);
                let lines = code.lines().enumerate().filter(|(number, _)| !tests[*number]).map(|(_, line)| line);
                let code = lines.collect::<Vec<_>>().join("\n");
                let own = if ["mod", "lib", "main"].contains(&stem.as_str()) { module.to_vec() } else { inside };
                // A module from another folder imports nothing of this crate.
                for declared in text.split("#[path = \"../").skip(1) {
                    let name =
                        declared.split("mod ").nth(1).and_then(|rest| rest.split(';').next()).unwrap_or_default();
                    into.code.entry([&own[..], &[name.to_owned()]].concat()).or_default();
                }
                into.code.insert(own, code);
            }
        }
    }

    /// The module that a path leads to, and the name in it.
    fn resolved(&self, from: &Module, path: &str) -> Option<(Module, Vec<String>)> {
        let mut segments: Vec<String> = path.split("::").map(str::to_owned).collect();
        let mut at = match segments[0].as_str() {
            "crate" => Module::new(),
            "super" | "self" => from.clone(),
            first if self.code.contains_key(&[&from[..], &[first.to_owned()]].concat()) => from.clone(),
            _ => return None,
        };
        while segments.first().is_some_and(|first| ["crate", "super", "self"].contains(&first.as_str())) {
            if segments.remove(0) == "super" {
                at.pop();
            }
        }
        while let Some(first) = segments.first() {
            let inside = [&at[..], std::slice::from_ref(first)].concat();
            if !self.code.contains_key(&inside) {
                break;
            }
            at = inside;
            segments.remove(0);
        }
        Some((at, segments))
    }

    /// The `use` statements of a module: whether they re-export the names, and the paths.
    fn uses(code: &str) -> Vec<(bool, Vec<String>)> {
        let statements = code.split(';').filter_map(|statement| {
            let at = statement.rfind("use ").filter(|at| {
                let before = statement[..*at].trim_end();
                before.is_empty()
                    || before.ends_with(['}', ')', ']'])
                    || before.ends_with("pub")
                    || before.ends_with('\n')
            })?;
            let line = statement[..at].rsplit('\n').next().unwrap_or_default();
            Some((line.contains("pub"), expanded(&statement[at + 4..])))
        });
        statements.collect()
    }

    /// The module that defines a name, followed through re-exports.
    fn home(&self, module: Module, name: &str, depth: usize) -> Module {
        let defines = ["struct", "enum", "fn", "const", "static", "trait", "type"]
            .iter()
            .any(|kind| self.code.get(&module).is_some_and(|code| has_definition(code, kind, name)));
        match self.imports.get(&(module.clone(), name.to_owned())) {
            Some((at, rest)) if !defines && depth < 10 => match rest.first() {
                Some(name) => self.home(at.clone(), name, depth + 1),
                None => at.clone(),
            },
            _ => module,
        }
    }

    /// What each module imports.
    fn edges(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let mut edges: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (module, code) in &self.code {
            let own = Crate::uses(code).into_iter().filter(|(passes_on, _)| !passes_on).flat_map(|(_, paths)| paths);
            for path in own {
                let Some((at, rest)) = self.resolved(module, &path) else { continue };
                let target = rest.first().map_or_else(|| at.clone(), |name| self.home(at.clone(), name, 0));
                if target != *module {
                    edges.entry(module.clone()).or_default().insert(target);
                }
            }
        }
        edges
    }
}

fn has_definition(code: &str, kind: &str, name: &str) -> bool {
    code.match_indices(&format!("{kind} {name}")).any(|(at, found)| {
        let after = code[at + found.len()..].chars().next();
        after.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_')
    })
}

/// The modules of the crate at `folder`.
fn read(folder: &Path) -> Crate {
    let mut all = Crate::default();
    Crate::read(folder, &[], &mut all);
    let mut imports = BTreeMap::new();
    for (module, code) in &all.code {
        for path in Crate::uses(code).into_iter().flat_map(|(_, paths)| paths) {
            if let Some((at, rest)) = all.resolved(module, &path)
                && let Some(name) = rest.last()
            {
                imports.insert((module.clone(), name.clone()), (at, rest.clone()));
            }
        }
    }
    all.imports = imports;
    all
}

/// A cycle of imports, if there is one.
fn circle(edges: &BTreeMap<Module, BTreeSet<Module>>) -> Option<Vec<String>> {
    fn walk(
        at: &Module,
        edges: &BTreeMap<Module, BTreeSet<Module>>,
        way: &mut Vec<Module>,
        done: &mut BTreeSet<Module>,
    ) -> Option<Vec<String>> {
        if let Some(from) = way.iter().position(|module| module == at) {
            let names = way[from..].iter().chain([at]).map(|module| module.join("::"));
            return Some(names.collect());
        }
        if !done.insert(at.clone()) {
            return None;
        }
        way.push(at.clone());
        let found = edges.get(at).into_iter().flatten().find_map(|next| walk(next, edges, way, done));
        way.pop();
        found
    }
    let mut done = BTreeSet::new();
    edges.keys().find_map(|module| walk(module, edges, &mut Vec::new(), &mut done))
}

#[test]
fn the_source_files_have_no_import_cycles() {
    for (folder, files_min, imports_min) in [("src", 150, 400), ("src/simulator", 50, 100)] {
        let all = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
        let edges = all.edges();
        let count: usize = edges.values().map(BTreeSet::len).sum();
        let is_complete = all.code.len() > files_min && count > imports_min;
        assert!(is_complete, "{folder}: {} files, {count} imports", all.code.len());
        assert_eq!(circle(&edges), None, "{folder}");
    }
}

#[test]
fn a_cycle_through_a_re_export_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    fs::create_dir(folder.path().join("room")).unwrap();
    write("lib.rs", "mod room;\n");
    write("room/mod.rs", "mod a;\nmod b;\npub use a::One;\npub use b::Two;\n");
    write("room/a.rs", "use super::Two;\npub struct One(Two);\n");
    write("room/b.rs", "pub struct Two;\n");
    assert_eq!(circle(&read(folder.path()).edges()), None);
    write("room/b.rs", "use super::{\n    One as First,\n};\npub struct Two(First);\n");
    let found = circle(&read(folder.path()).edges()).unwrap();
    assert_eq!(found, ["room::a", "room::b", "room::a"]);
}

/// The modules of the pipeline in order. Each may import those of earlier lines, never one on its own line.
const LINES: [&[&str]; 15] = [
    &["wording", "blocking", "state_folder", "failure_file", "published", "returned_file"],
    &["campaign", "show"],
    &["compare", "judge", "dataset_update"],
    &["reuse"],
    &["intake", "shown_command"],
    &["send", "warehouse"],
    &["publish"],
    &["corrections", "sending", "partition_outputs"],
    &["plan", "doctor", "init"],
    &["report", "status"],
    &["report_doubts", "report_jobs", "report_stops", "end_reason", "report_page"],
    &["run_record"],
    &["prepare", "resolve"],
    &["run", "collect", "export"],
    &["retry_webhook", "decide", "evidence", "reconcile", "purge"],
];

/// The imports between modules of the pipeline that do not lead to an earlier line.
fn against_the_line(edges: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<String> {
    let line_of = |room: &str| LINES.iter().position(|line| line.contains(&room));
    let room = |module: &Module| module.get(1).filter(|_| module[0] == "pipeline").cloned();
    let pairs = edges.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to)));
    let rooms = pairs.filter_map(|(from, to)| Some((room(from)?, room(to)?))).filter(|(from, to)| from != to);
    let wrong = rooms.filter(|(from, to)| match (line_of(from), line_of(to)) {
        // `collect` is a run without new requests.
        _ if (from.as_str(), to.as_str()) == ("collect", "run") => false,
        (Some(from), Some(to)) => to >= from,
        _ => true,
    });
    wrong.map(|(from, to)| format!("{from} imports {to}")).collect()
}

#[test]
fn the_modules_of_the_pipeline_keep_their_order() {
    let edges = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).edges();
    assert_eq!(against_the_line(&edges), Vec::<String>::new());

    let pipeline = |room: &str| ["pipeline", room].map(str::to_owned).to_vec();
    let one = |from, to| BTreeMap::from([(pipeline(from), BTreeSet::from([pipeline(to)]))]);
    assert_eq!(against_the_line(&one("intake", "send")), ["intake imports send"]);
    assert_eq!(against_the_line(&one("send", "publish")), ["send imports publish"]);
    assert_eq!(against_the_line(&one("plan", "cellar")), ["plan imports cellar"]);
    assert_eq!(against_the_line(&one("run", "campaign")), Vec::<String>::new());
}
