//! What outputs never show of an answer: images, and values of secret fields. This module decides what is an image. A
//! text is one if the declaration says so, or if it is longer than 8 KiB and is the base64 of a JPEG, PNG, WEBP or TIFF
//! file. The rest of a JSON text stays as it is, byte for byte.

use crate::model::{
    json_pointer,
    json_tokens::{Tokens, unescaped},
};
use base64::{
    Engine,
    alphabet::{Alphabet, STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{borrow::Cow, collections::HashSet};

/// A longer text is examined, whether or not the declaration names its place.
const UNDECLARED_BYTES: usize = 8 << 10;
/// A shorter text is never an image, such as a word that says why there is none.
const DECLARED_BYTES: usize = 64;
/// The text in place of a secret.
pub const SECRET: &str = "…";
/// The same as JSON.
const SECRET_JSON: &str = "\"…\"";
/// A secret of fewer characters is hidden only where it is a whole word.
const SHORT_SECRET: usize = 4;

/// An image of an answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    /// SHA-256 of its bytes, hexadecimal.
    pub sha256: String,
    /// The file extension for its format.
    pub extension: &'static str,
    pub bytes: Vec<u8>,
}

impl Image {
    /// The text in place of the image.
    pub fn text(&self) -> String {
        format!("(image, {} bytes, sha256 {})", self.bytes.len(), self.sha256)
    }
}

/// What to hide in the rows of a check.
#[derive(Debug, Clone, Default)]
pub struct Hiding {
    /// JSON pointers into the payload to images.
    pub images: Vec<String>,
    /// The names of secret fields.
    pub secrets: Vec<String>,
    /// The values of secret fields in one row.
    pub values: Vec<String>,
}

/// The texts of one answer that its declaration calls images.
pub struct Declared<'a>(HashSet<&'a str>);

impl Hiding {
    /// The images of a payload by the declaration.
    pub fn declared<'a>(&self, payload: &'a Value) -> Declared<'a> {
        let mut found = HashSet::new();
        for place in self.images.iter().filter_map(|pointer| json_pointer::at(payload, pointer)) {
            texts(place, &mut found);
        }
        Declared(found)
    }

    /// A JSON text without its images and secrets. Each image is given to `each`. The value of a secret field is hidden
    /// whole, whatever it is: a number, an object or a list.
    pub fn json<'a>(&self, text: &'a str, declared: &Declared<'_>, each: &mut dyn FnMut(Image)) -> Cow<'a, str> {
        let has_secrets = !self.secrets.is_empty() || !self.values.is_empty();
        if text.len() < UNDECLARED_BYTES && declared.0.is_empty() && !has_secrets {
            return Cow::Borrowed(text);
        }
        let (mut shown, mut copied) = (String::new(), 0);
        let mut tokens = Tokens { text, at: 0 };
        while let Some(token) = tokens.next() {
            let whole = &text[token.start..token.end];
            if !token.is_text {
                if self.values.iter().any(|value| value == whole) {
                    shown.push_str(&text[copied..token.start]);
                    shown.push_str(SECRET_JSON);
                    copied = token.end;
                }
                continue;
            }
            let raw = &whole[1..whole.len() - 1];
            if token.is_name && self.secrets.iter().any(|name| unescaped(raw) == *name) {
                let value = tokens.skip_value();
                shown.push_str(&text[copied..value.start]);
                shown.push_str(SECRET_JSON);
                copied = value.end;
                continue;
            }
            let image = if raw.len() >= DECLARED_BYTES && !token.is_name {
                declared.image(&unescaped(raw)).map(|image| {
                    let text = image.text();
                    each(image);
                    text
                })
            } else {
                None
            };
            let replaced = match image {
                Some(image) => Some(image),
                None if self.values.is_empty() => None,
                None => match self.text(&unescaped(raw)) {
                    Cow::Borrowed(_) => None,
                    // Without its quotation marks.
                    Cow::Owned(masked) => {
                        Some(Value::from(masked).to_string()).map(|json| json[1..json.len() - 1].to_owned())
                    }
                },
            };
            if let Some(replaced) = replaced {
                shown.push_str(&text[copied..=token.start]);
                shown.push_str(&replaced);
                copied = token.end - 1;
            }
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        shown.push_str(&text[copied..]);
        Cow::Owned(shown)
    }

    /// A text without the values of secret fields. A value of fewer than four characters is replaced only where it
    /// is a whole word, because it is part of too many others.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        for value in &self.values {
            let is_short = value.chars().count() < SHORT_SECRET;
            let is_whole_word = |at: usize, whole: &str| {
                let before = whole[..at].chars().next_back();
                let after = whole[at + value.len()..].chars().next();
                !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
            };
            let found: Vec<usize> = masked.match_indices(value.as_str()).map(|(at, _)| at).collect();
            for at in found.into_iter().rev().filter(|at| !is_short || is_whole_word(*at, &masked)).collect::<Vec<_>>()
            {
                masked.to_mut().replace_range(at..at + value.len(), SECRET);
            }
        }
        masked
    }
}

impl Declared<'_> {
    /// No text is declared as an image.
    pub fn nothing() -> Declared<'static> {
        Declared(HashSet::new())
    }

    /// The image that a text is, if it is one.
    pub fn image(&self, text: &str) -> Option<Image> {
        // The address of an image is not an image.
        let is_address = text.starts_with("https://") || text.starts_with("http://");
        let is_declared = text.len() >= DECLARED_BYTES && self.0.contains(text) && !is_address;
        if !is_declared && text.len() <= UNDECLARED_BYTES {
            return None;
        }
        let decoded = decoded(text, !is_declared);
        let (bytes, extension) = match decoded {
            Some(bytes) => match extension_of(&bytes) {
                Some(extension) => (bytes, extension),
                None if is_declared => (bytes, "bin"),
                None => return None,
            },
            None if is_declared => (text.as_bytes().to_owned(), "bin"),
            None => return None,
        };
        let sha256 = crate::model::key::hex(&Sha256::digest(&bytes));
        Some(Image { sha256, extension, bytes })
    }
}

/// All texts at or below a value.
fn texts<'a>(value: &'a Value, found: &mut HashSet<&'a str>) {
    match value {
        Value::String(text) => drop(found.insert(text)),
        Value::Array(list) => list.iter().for_each(|one| texts(one, found)),
        Value::Object(members) => members.values().for_each(|one| texts(one, found)),
        _ => {}
    }
}

/// The bytes of a base64 text, in either alphabet, with or without padding, line breaks and the prefix of a data URL.
/// With `only_known`, a text that does not begin like an image is not decoded.
fn decoded(text: &str, only_known: bool) -> Option<Vec<u8>> {
    let text = match text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
        Some((_, data)) => data,
        None => text,
    };
    let compact: Cow<'_, str> = if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        text.split_ascii_whitespace().collect::<String>().into()
    } else {
        text.into()
    };
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let with = |alphabet: &Alphabet, text: &str| GeneralPurpose::new(alphabet, config).decode(text).ok();
    let either = |text: &str| with(&STANDARD, text).or_else(|| with(&URL_SAFE, text));
    if only_known {
        extension_of(&either(compact.get(..16)?)?)?;
    }
    either(&compact)
}

/// The file extension of an image by its first bytes.
fn extension_of(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xd8, 0xff, ..] => Some("jpg"),
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("png"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("webp"),
        [b'I', b'I', 0x2a, 0, ..] | [b'M', b'M', 0, 0x2a, ..] => Some("tif"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD};
    use serde_json::json;

    fn picture(begins: &[u8], bytes: usize) -> Vec<u8> {
        let mut picture = begins.to_vec();
        picture.resize(bytes, 7);
        picture
    }

    fn hidden(hiding: &Hiding, answer: &Value) -> (String, Vec<Image>) {
        let mut images = Vec::new();
        let text = answer.to_string();
        let shown = hiding.json(&text, &hiding.declared(answer), &mut |image| images.push(image)).into_owned();
        (shown, images)
    }

    #[test]
    fn a_large_image_is_replaced_wherever_it_is_and_the_rest_stays() {
        let jpeg = picture(&[0xff, 0xd8, 0xff, 0xe0], 9_000);
        for text in [
            BASE64.encode(&jpeg),
            URL_SAFE_NO_PAD.encode(&jpeg),
            format!("data:image/jpeg;base64,{}", BASE64.encode(&jpeg)),
            BASE64
                .encode(&jpeg)
                .as_bytes()
                .chunks(76)
                .map(|line| str::from_utf8(line).unwrap().to_owned() + "\r\n")
                .collect(),
        ] {
            let answer = json!({ "b": 1.50, "deep": [{ "portrait": text }], "a": "é \" \\" });
            let (shown, images) = hidden(&Hiding::default(), &answer);
            assert_eq!((images.len(), images[0].extension), (1, "jpg"));
            assert_eq!(images[0].bytes, jpeg);
            assert!(images[0].text().starts_with("(image, 9000 bytes, sha256 "), "{}", images[0].text());
            let expected = json!({ "b": 1.50, "deep": [{ "portrait": images[0].text() }], "a": "é \" \\" });
            assert_eq!(shown, expected.to_string());
        }
    }

    #[test]
    fn the_four_formats_are_known_by_their_first_bytes() {
        let begins: [(&[u8], &str); 5] = [
            (&[0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a], "png"),
            (b"RIFF\0\0\0\0WEBP", "webp"),
            (b"II*\0", "tif"),
            (b"MM\0*", "tif"),
            (&[0xff, 0xd8, 0xff], "jpg"),
        ];
        for (begin, extension) in begins {
            let answer = json!({ "x": BASE64.encode(picture(begin, 7_000)) });
            assert_eq!(hidden(&Hiding::default(), &answer).1[0].extension, extension);
        }
    }

    #[test]
    fn a_text_that_is_no_image_and_a_small_undeclared_image_stay() {
        let small = BASE64.encode(picture(&[0xff, 0xd8, 0xff], 600));
        let answer = json!({ "long": "word ".repeat(4_000), "base64": "QUFB".repeat(4_000), "small": small });
        let (shown, images) = hidden(&Hiding::default(), &answer);
        assert!(images.is_empty());
        assert_eq!(shown, answer.to_string());
    }

    #[test]
    fn a_declared_place_is_hidden_whatever_it_holds_except_a_short_word() {
        let hiding = Hiding { images: vec!["/portrait".into(), "/pages".into()], ..Hiding::default() };
        let small = BASE64.encode(picture(&[0xff, 0xd8, 0xff], 600));
        let address = format!("https://service.example/{}", "p".repeat(80));
        let answer = json!({ "portrait": small, "pages": ["not extracted", { "x": "%".repeat(100) }, address] });
        let (shown, images) = hidden(&hiding, &answer);
        let found: Vec<(usize, &str)> = images.iter().map(|image| (image.bytes.len(), image.extension)).collect();
        assert_eq!(found, [(600, "jpg"), (100, "bin")]);
        assert!(shown.contains("not extracted") && shown.contains(&address) && !shown.contains("%%"), "{shown}");
    }

    #[test]
    fn the_value_of_a_secret_field_is_never_shown() {
        let hiding = Hiding { secrets: vec!["document_password".into()], ..Hiding::default() };
        let answer = json!({ "input": { "document_password": "open\"sesame", "name": "document_password" } });
        let shown = hidden(&hiding, &answer).0;
        assert_eq!(shown, r#"{"input":{"document_password":"…","name":"document_password"}}"#);
    }

    #[test]
    fn the_whole_value_of_a_secret_field_is_hidden_whatever_it_is() {
        let hiding = Hiding { secrets: vec!["pw".into()], ..Hiding::default() };
        for value in [
            "987654",
            "{\"value\": [\"PWA3\", {\"x\": 1}]}",
            "[ \"PWA3\" , \"PWB4\" ]",
            "null",
            "true",
            "-1.5e3",
            "\"a\\\"}b\"",
        ] {
            for (text, expected) in [
                (format!("{{\"pw\" : {value}, \"a\": [1]}}"), "{\"pw\" : \"…\", \"a\": [1]}"),
                (format!("[{{\"a\":\"pw\",\"pw\":{value}}}, 7]"), "[{\"a\":\"pw\",\"pw\":\"…\"}, 7]"),
            ] {
                assert_eq!(hiding.json(&text, &Declared::nothing(), &mut drop), expected);
            }
        }
    }

    #[test]
    fn a_secret_value_is_hidden_wherever_it_is_repeated() {
        let hiding = Hiding { values: vec!["open\"sesame".into(), "987654".into(), "no".into()], ..Hiding::default() };
        let answer =
            json!({ "why": "bad open\"sesame given", "list": [987_654, 9_876_540], "no": "no", "note": "987654!" });
        let shown: Value = serde_json::from_str(&hidden(&hiding, &answer).0).unwrap();
        assert_eq!(shown, json!({ "why": "bad … given", "list": ["…", 9_876_540], "…": "…", "note": "…!" }));
        assert_eq!(hiding.text("no: 987654, nothing"), "…: …, nothing");
    }
}
