//! Which lines of the program read the status of a reply. One place gives each status its meaning, and all readers use that.

pub const RULE: &str = "only `client::reply_kind` reads the number of a status; match on `ReplyKind`";

/// Numbers that mean a status wherever they stand. In a line with the word `status`, every number of three digits does.
const STATUSES: [&str; 18] = [
    "202", "401", "402", "403", "404", "405", "407", "408", "409", "410", "413", "415", "422", "429", "502", "503",
    "504", "511",
];

/// The reading itself, the transport, which keeps no address of a success, the servers of this program, and what a person
/// is told about a status.
const EXEMPT: [&str; 6] = [
    "src/client/reply_kind.rs",
    "src/client/transport.rs",
    "src/simulator/",
    "src/webhook/",
    "src/model/stop_message.rs",
    "src/pipeline/send/gate.rs",
];

/// The numbers of the lines that read a status, counted from 1.
pub fn read(path: &str, code: &str) -> Vec<usize> {
    let is_exempt = EXEMPT.iter().any(|exempt| path.starts_with(exempt));
    let is_tests = path.ends_with("_tests.rs") || path.contains("_tests/");
    if is_exempt || is_tests || !path.starts_with("src/") {
        return Vec::new();
    }
    let tests = super::test_lines(code);
    let numbers = |line: &str| {
        let is_about_status = line.contains("status");
        let is_status = |word: &str| {
            let is_any = word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_digit());
            STATUSES.contains(&word) || is_about_status && is_any
        };
        line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(is_status)
    };
    let lines = code.lines().enumerate().filter(|(at, line)| !tests[*at] && numbers(line));
    lines.map(|(at, _)| at + 1).collect()
}

#[test]
fn a_status_in_the_program_is_found_and_one_in_a_test_or_a_text_is_not() {
    let text = "fn a() {\n    match status {\n        401 | 403 => b(\"HTTP 404\"),\n        _ => c(4_040, 500),\n    }\n    d(reply.status >= 500);\n}\n\
                #[cfg(test)]\nmod tests {\n    fn d() {\n        e(404);\n    }\n}\n";
    let lines = |path| read(path, &super::code_of(text));
    assert_eq!(lines("src/pipeline/send/attempt.rs"), [3, 6]);
    for exempt in ["src/simulator/reply.rs", "src/client/reply_kind.rs", "tests/it/a.rs", "src/client/a_tests.rs"] {
        assert_eq!(lines(exempt), [0; 0], "{exempt}");
    }
}
