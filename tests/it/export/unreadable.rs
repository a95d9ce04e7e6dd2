//! Replies that cannot be read as answers are written as they came.

use super::{campaign, exported, jsonl};
use crate::support::{paused::reply, world::World};
use rescreen::{
    Error,
    model::{Stop, key::hex},
    pipeline::{ExportContent, ExportOrder, export},
};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs;

/// It begins as JSON, and is neither JSON nor text.
const DAMAGED: &[u8] = b"{\"results\": \"\xff\x00\r\n\x1f\x8b";

#[tokio::test(start_paused = true)]
async fn replies_that_cannot_be_read_are_exported_byte_for_byte() {
    let mut world = World::new().rows(8).under_paused_time();
    world.paused().stands_between(|_, sent| {
        let is_damaged = ["P00002", "P00005"].iter().any(|name| sent.contains(name));
        is_damaged.then(|| reply(200, DAMAGED))
    });
    let ran = world.run().await;
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("unreadable");
    let order = ExportOrder { content: ExportContent::Unread, ..ExportOrder::of(&ran.out, &to) };
    let stopped = export(&order, &|| Some(Stop::Interrupted));
    assert!(matches!(stopped, Err(Error::Stopped(Stop::Interrupted))));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "an interrupted export leaves nothing");

    let exported = export(&order, &|| None).unwrap();
    assert_eq!((exported.rows, exported.files.len()), (2, 3));
    let failed: Vec<_> = ran.failures().iter().map(|failure| failure["idempotency_key"].clone()).collect();
    let listed = jsonl(&to.join("replies.jsonl"));
    assert_eq!(listed.len(), 2);
    for line in &listed {
        let file = line["file"].as_str().unwrap();
        assert!(file.starts_with("replies/request-") && file.ends_with(".bin"), "{file}");
        assert_eq!(fs::read(to.join(file)).unwrap(), DAMAGED);
        assert_eq!((&line["bytes"], &line["http_status"]), (&json!(DAMAGED.len()), &json!(200)));
        assert_eq!(line["sha256"], hex(&Sha256::digest(DAMAGED)));
        assert_eq!((&line["check_name"], &line["state"]), (&json!("aml-screening"), &json!("failed")));
        assert!(failed.contains(&line["idempotency_key"]), "{line:?}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(to.join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "only the owner can read it");
        }
    }
    let message = ran.failures()[0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("`rescreen export --unreadable --to NEW_FOLDER`"), "{message}");
}

#[test]
fn where_every_reply_was_read_the_list_is_empty() {
    let workspace = campaign();
    let json = exported(&workspace, &["--unreadable", "--to", "unreadable"]);
    assert_eq!((&json["rows"], &json["file_format"]), (&json!(0), &json!("jsonl")));
    assert!(json["results"].as_u64().unwrap() > 90, "{json}");
    assert_eq!(jsonl(&workspace.path().join("unreadable/replies.jsonl")).len(), 0);
    workspace
        .say(&["export", "--unreadable", "--to", "again"])
        .exits(0)
        .says("the ledger keeps no reply that could not be read");
    workspace.say(&["export", "--unreadable", "--wide", "--to", "third"]).exits(2).says("cannot be used with");
}
