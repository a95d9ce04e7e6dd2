//! Which lines of a test depend on real time. Only tests in a module `timed` may: they are ignored by default, and belong to
//! the gauntlet. Under paused time a test may wait and measure, because that time is virtual.

/// What measures or waits in real time.
const TOKENS: [&str; 5] = ["Instant::now(", ".elapsed", "sleep(", "run_for(", "interval("];

/// Folders whose business is time: shared waits with an end, servers that are slow on purpose, and the harnesses of the
/// gauntlet. Simulated campaigns and the tests of the throttle run under paused time.
const EXEMPT: [&str; 15] = [
    "tests/it/support/",
    "tests/it/terminal/emulator.rs",
    "tests/it/sim",
    "tests/it/kill",
    "tests/it/rate/",
    "tests/it/faults",
    "tests/planted/",
    "tests/it/memory.rs",
    "tests/it/files/memory.rs",
    "tests/it/hostile/server.rs",
    "tests/it/hostile/wire.rs",
    "tests/it/hostile/campaign.rs",
    "tests/it/properties",
    "tests/it/webhook/load.rs",
    "src/throttle/",
];

/// The numbers of the lines that depend on real time, with what they use, counted from 1.
pub fn real_time(path: &str, code: &str) -> Vec<(usize, &'static str)> {
    if path.contains("timed.rs") || path.contains("/timed/") || EXEMPT.iter().any(|exempt| path.starts_with(exempt)) {
        return Vec::new();
    }
    // What only tests under paused time call needs no mark.
    let mut tests =
        code.lines().map(str::trim).filter(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
    if code.contains("start_paused = true") && tests.all(|line| line.contains("start_paused = true")) {
        return Vec::new();
    }
    let mut found = Vec::new();
    // The line that ends a module `timed` or a test under paused time.
    let mut until: Option<String> = None;
    let mut is_paused = false;
    for (number, line) in code.lines().enumerate() {
        let (indent, words) = line.split_at(line.len() - line.trim_start().len());
        if let Some(end) = &until {
            until = (line.trim_end() != end).then(|| end.clone());
            continue;
        }
        if words.starts_with("#[") {
            is_paused |= words.contains("start_paused = true");
            continue;
        }
        let is_function = words.split_whitespace().take(4).any(|word| word == "fn");
        if words.starts_with("mod timed {") || (is_paused && is_function) {
            until = Some(format!("{indent}}}"));
        } else if !words.starts_with("use ")
            && !is_function
            && let Some(token) = token_in(line)
        {
            found.push((number + 1, token));
        }
        is_paused &= words.trim().is_empty();
    }
    found
}

fn token_in(line: &str) -> Option<&'static str> {
    let begins_a_word = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let is_in = |token: &&str| line.match_indices(*token).any(|(at, _)| token.starts_with('.') || begins_a_word(at));
    TOKENS.into_iter().find(is_in)
}

fn lines(path: &str, text: &str) -> Vec<usize> {
    real_time(path, &super::code_of(text)).into_iter().map(|(line, _)| line).collect()
}

#[test]
fn real_time_outside_timed_modules_is_found() {
    let text = "use std::time::Instant;\n#[test]\nfn a() {\n    let begun = Instant::now();\n    sleep(x);\n}\n\
                #[tokio::test(start_paused = true)]\nasync fn b() {\n    sleep(x).await;\n}\n\
                mod timed {\n    use super::*;\n    fn c() {\n        sleep(x);\n    }\n}\nfn d() {\n    x.elapsed();\n}\n";
    assert_eq!(lines("tests/it/a.rs", text), [4, 5, 18]);
    assert_eq!(lines("tests/it/a/timed.rs", text), [0; 0]);
    let paused = "fn a() {\n    sleep(x).await;\n}\n#[tokio::test(start_paused = true)]\nasync fn b() {}\n";
    assert_eq!(lines("tests/it/a.rs", paused), [0; 0]);
    assert_eq!(lines("tests/it/a.rs", &format!("{paused}#[test]\nfn c() {{}}\n")), [2]);
    assert_eq!(lines("tests/it/a.rs", "fn asleep() {\n    asleep();\n}\n"), [0; 0]);
    assert_eq!(lines("tests/it/a.rs", "fn a() {\n    say(\"sleep(x)\"); // sleep(x)\n}\n"), [0; 0]);
}
