//! Compares the bank that an answer names with the bank that was asked for. The service masks the account, so only the
//! name shows that an answer is about an account at another bank.

use crate::model::json_pointer;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Words that name no bank on their own.
const GENERIC: [&str; 12] =
    ["bank", "limited", "ltd", "pty", "plc", "group", "holdings", "the", "of", "south", "africa", "rsa"];

/// Whether the payload of an answer names another bank than was asked for.
pub fn is_other_bank(payload: Option<&Value>, sent: &Map<String, Value>) -> bool {
    let named = payload.and_then(|payload| json_pointer::at(payload, "/bank/name")).filter(|name| !name.is_null());
    let (Some(named), Some(asked)) = (named, sent.get("bankName").and_then(Value::as_str)) else { return false };
    // Another type than text says nothing that can be compared, so a person reads it.
    let Some(named) = named.as_str() else { return true };
    let masked = named.contains(['*', '\u{2022}', '\u{2026}']);
    !masked && !are_same(asked, named)
}

/// Whether two names are of the same bank: without generic words, all words of one are in the other, or one is the
/// initials of the other.
fn are_same(one: &str, other: &str) -> bool {
    let (one, other) = (words(one), words(other));
    if one.concat() == other.concat() || is_initials(&one, &other) || is_initials(&other, &one) {
        return true;
    }
    let (one, other) = (own(&one), own(&other));
    !one.is_empty() && !other.is_empty() && (one.is_subset(&other) || other.is_subset(&one))
}

fn words(name: &str) -> Vec<String> {
    let parts = name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect()
}

/// The words that name the bank. `TymeBank` is written in one word or in two.
fn own(words: &[String]) -> BTreeSet<&str> {
    let own = words.iter().map(|word| word.strip_suffix("bank").unwrap_or(word));
    own.filter(|word| !word.is_empty() && !GENERIC.contains(word)).collect()
}

/// Whether a single word is the initials of the first words of a name.
fn is_initials(word: &[String], name: &[String]) -> bool {
    let [word] = word else { return false };
    let count = word.chars().count();
    let initials = name.iter().filter_map(|word| word.chars().next());
    count >= 2 && name.len() >= count && initials.take(count).eq(word.chars())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn other(asked: &str, named: Value) -> bool {
        let sent = json!({"bankName": asked});
        is_other_bank(Some(&json!({"bank": {"name": named}})), sent.as_object().unwrap())
    }

    #[test]
    fn one_bank_has_several_spellings() {
        for (asked, named) in [
            ("FNB", "FNB"),
            ("FNB", "First National Bank"),
            ("First National Bank", "FNB"),
            ("FNB", "First National Bank of South Africa Ltd"),
            ("ABSA", "Absa Bank Limited"),
            ("TymeBank", "Tyme Bank"),
            ("TymeBank", "TYME"),
            ("Standard Bank", "The Standard Bank of South Africa Limited"),
            ("Capitec", "CAPITEC BANK"),
            ("Sasfin Bank", "Sasfin"),
            ("Bank Zero", "bank-zero"),
            ("FNB", "F*B"),
        ] {
            assert!(!other(asked, json!(named)), "{asked} {named}");
        }
    }

    #[test]
    fn another_bank_is_noticed() {
        for (asked, named) in [
            ("FNB", "Nedbank"),
            ("Access Bank", "African Bank"),
            ("Capitec", "Standard Bank"),
            ("Standard Bank", "Bank of South Africa"),
            ("ABSA", ""),
            ("Bank Zero", "Discovery Bank"),
        ] {
            assert!(other(asked, json!(named)), "{asked} {named}");
        }
        assert!(other("FNB", json!(7)) && other("FNB", json!({"code": "632005"})));
    }

    #[test]
    fn an_answer_without_a_bank_or_a_request_without_one_is_not_compared() {
        assert!(!other("FNB", json!(null)));
        let sent = json!({"bankName": "FNB"});
        assert!(!is_other_bank(Some(&json!({"bank": {}})), sent.as_object().unwrap()));
        assert!(!is_other_bank(None, sent.as_object().unwrap()));
        assert!(!is_other_bank(Some(&json!({"bank": {"name": "FNB"}})), &Map::new()));
    }
}
