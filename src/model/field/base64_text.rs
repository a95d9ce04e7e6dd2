//! Bytes as base64 text, such as the payload of a barcode. A text that was cut off or changed on its way is found before
//! anything is paid for.

use super::refusal::FieldRefusal;
use base64::{Engine, engine::general_purpose::STANDARD};

/// The text without whitespace, or why it is not base64.
pub fn read(text: &str) -> Result<String, FieldRefusal> {
    let compact: String = text.split_whitespace().collect();
    match STANDARD.decode(&compact) {
        Ok(bytes) if !bytes.is_empty() => Ok(compact),
        _ => Err(FieldRefusal::invalid(
            "expected base64: letters, digits, `+` and `/`, padded with `=`, without a prefix such as `data:`; found \
             something else, or a text that was cut off",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_sent_without_whitespace_and_anything_else_is_refused() {
        for (text, sent) in [("AZsDBA==", "AZsDBA=="), (" AZsD\r\n BA== ", "AZsDBA=="), ("+/+/", "+/+/")] {
            assert_eq!(read(text).unwrap(), sent);
        }
        for odd in ["", " ", "AZsDBA", "AZsDBA=", "AZsDB===", "AZs-_A==", "data:;base64,AZsDBA==", "Jo Vexford", "é"] {
            let refusal = read(odd).unwrap_err();
            assert!(refusal.message.starts_with("expected base64"), "{odd}");
            assert!(odd.trim().is_empty() || !refusal.message.contains(odd), "{odd}");
        }
    }
}
