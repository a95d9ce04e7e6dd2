//! A service that repeats the API key in its replies: in messages, answers, names and headers. The key is in no file,
//! not in the ledger, and is not printed.

use super::{Campaign, Hostile, Reply, json};
use crate::support::{API_KEY, tables::files};
use base64::{Engine, engine::general_purpose::STANDARD};
use std::fs;

const ROWS: u32 = 9;

/// The key as it is, in base64 and percent-encoded.
fn forms() -> [String; 3] {
    let encoded = STANDARD.encode(API_KEY).trim_end_matches('=').to_owned();
    [API_KEY.to_owned(), encoded, API_KEY.bytes().map(|byte| format!("%{byte:02X}")).collect()]
}

#[test]
#[ignore = "make hostile"]
fn a_repeated_api_key_is_kept_and_shown_nowhere() {
    let reply = |row: u32| {
        let [plain, encoded, percent] = forms();
        let escaped = API_KEY.replacen('s', "\\u0073", 1);
        let why = |text: &str| json!({ "error": { "code": text, "message": format!("key {text}") } });
        Some(match row {
            1 => Reply::error(400, why(&plain)),
            2 => Reply::error(422, why(&encoded)),
            3 => Reply::error(400, why(&percent)),
            4 => Reply::answer(
                json!({ "success": true, "requestId": plain, "results": { "match": [], (plain.clone()): plain } }),
            ),
            5 => Reply::answer(json!({ "success": true, "results": { "odd": encoded } })),
            6 => Reply::answer(json!({ "found": percent })),
            7 => Reply::bytes(format!(r#"{{"success": true, "results": {{"match": [], "note": "{escaped}"}}}}"#)),
            8 => Reply::error(500, json!(plain)),
            _ => return None,
        })
    };
    let service = Hostile::new().script(move |asked| reply(asked.row)).start();
    let campaign = Campaign::of(&service, ROWS).with("-vv --max-errors 100% --for 20s");
    let said = campaign.run();
    let mut shown = said.stdout + &said.stderr;
    for words in ["status", "resolve --list", "export --to all"] {
        let said = campaign.say(words);
        shown += &(said.stdout + &said.stderr);
    }
    let ledger = campaign.ledger();
    assert!(ledger.row(1).message.contains('…'), "{:?}", ledger.row(1));
    for form in forms() {
        assert!(!shown.contains(&form), "{form}: {shown}");
        assert!(!ledger.keeps(form.as_bytes()), "{form} is in the ledger");
        for file in files(campaign.path(), "") {
            let bytes = fs::read(campaign.path().join(&file)).unwrap();
            assert!(!bytes.windows(form.len()).any(|part| part == form.as_bytes()), "{form}: {}", file.display());
        }
    }
}
