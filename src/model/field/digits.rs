//! Numbers that are identifiers, such as account numbers and branch codes: they stay text, because a leading zero is part
//! of them.

use super::refusal::FieldRefusal;

/// The digits, from a text that is already cleaned.
pub fn read(text: &str) -> Result<String, FieldRefusal> {
    if text.is_empty() {
        return Err(FieldRefusal::invalid("expected digits, found none"));
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(FieldRefusal::invalid("expected digits only, found another character"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros_are_kept_and_other_characters_are_refused() {
        assert_eq!(read("051001").unwrap(), "051001");
        for text in ["", "62.0", "6200A", "٠٥١٠٠١"] {
            let refusal = read(text).unwrap_err();
            assert!(refusal.message.starts_with("expected digits") && !refusal.message.contains("62"), "{text}");
        }
    }
}
