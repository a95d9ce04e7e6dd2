//! A body with files: a case is the template of a body, an empty line, and the content of its files. Every member that
//! stands for a file is filled. The body is the same each time, it contains exactly the content, and it is read back by
//! code that is not the program's: a JSON parser, or a splitter of multipart bodies.

use base64::{Engine, engine::general_purpose::STANDARD};
use rescreen::{
    client::{Form, Template},
    model::{Attachment, IdempotencyKey, Placement, file_kind::FileKind},
};
use serde_json::{Map, Value};
use std::convert::Infallible;

pub fn check(data: &[u8]) {
    let end = data.windows(2).position(|pair| pair == b"\n\n").unwrap_or(data.len());
    let (text, content) = (&data[..end], data.get(end + 2..).unwrap_or_default());
    let Ok(mut members) = serde_json::from_slice::<Map<String, Value>>(text) else {
        assert!(Template::read(text, &[]).is_err(), "a template is a JSON object");
        return;
    };
    let named: Vec<String> =
        members.iter().filter(|(_, value)| *value == "FILE").map(|(name, _)| name.clone()).collect();
    for placement in Placement::ALL {
        // A declaration has at most one document that is uploaded, and no member with the name of the reference.
        let is_declared = named.len() <= 1 && !members.contains_key("document_reference");
        if placement == Placement::Upload && !is_declared {
            continue;
        }
        let files: Vec<Attachment> = named.iter().map(|name| file(name, content, placement)).collect();
        for (name, file) in named.iter().zip(&files) {
            members[name] = file.digest_text().into();
        }
        let template = serde_json::to_vec(&members).expect("an object can be written");
        let template = Template::read(&template, &files).expect("each file has its place");
        let form = filled(&template, &files, content);
        assert_eq!(form.body, filled(&template, &files, content).body, "one key has one body");
        assert!(form.body.len() <= template.capacity(&files), "the capacity covers the body");
        match form.content_type.split_once("boundary=") {
            Some((_, boundary)) => parts_hold(&form.body, boundary, &members, &files, content),
            None => members_hold(&form.body, &members, &files, content),
        }
    }
}

fn file(field: &str, content: &[u8], placement: Placement) -> Attachment {
    Attachment {
        field: field.to_owned(),
        path: "a path that is never sent".to_owned(),
        sha256: [7; 32],
        bytes: content.len() as u64,
        kind: FileKind::Pdf,
        placement,
    }
}

fn filled(template: &Template, files: &[Attachment], content: &[u8]) -> Form {
    let key = IdempotencyKey::from_slice(&[1; 16]).expect("16 bytes");
    let Ok(form) = template.filled(key, files, Some("ref-1"), |_| Ok::<_, Infallible>(content.to_vec()));
    form
}

fn members_hold(body: &[u8], members: &Map<String, Value>, files: &[Attachment], content: &[u8]) {
    let sent: Map<String, Value> = serde_json::from_slice(body).expect("the body is a JSON object");
    for (name, value) in members {
        match files.iter().find(|file| file.field == *name) {
            None if name == "document_reference" => {}
            None => assert_eq!(sent[name], *value, "{name}"),
            Some(file) if file.placement == Placement::Upload => assert_eq!(sent["document_reference"], "ref-1"),
            Some(_) => {
                let text = sent[name].as_str().expect("base64 is text");
                assert_eq!(STANDARD.decode(text).expect("it is base64"), content, "{name}");
            }
        }
    }
}

/// The parts between the boundaries, in the order of the members.
fn parts_hold(body: &[u8], boundary: &str, members: &Map<String, Value>, files: &[Attachment], content: &[u8]) {
    let mut rest = body;
    for (name, value) in members {
        rest = rest.strip_prefix(format!("--{boundary}\r\n").as_bytes()).expect("a part begins with the boundary");
        let head_end = rest.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a part has a head");
        let head = std::str::from_utf8(&rest[..head_end]).expect("a head is text");
        rest = &rest[head_end + 4..];
        let is_file = files.iter().any(|file| file.field == *name);
        let expected = match value.as_str() {
            _ if is_file => content.to_vec(),
            Some(text) => text.as_bytes().to_vec(),
            None => value.to_string().into_bytes(),
        };
        assert_eq!(head.lines().count(), if is_file { 2 } else { 1 }, "a name adds no line: {head:?}");
        rest = rest.strip_prefix(expected.as_slice()).expect("a part has its content");
        rest = rest.strip_prefix(b"\r\n").expect("a part ends");
    }
    assert_eq!(rest, format!("--{boundary}--\r\n").as_bytes());
}
