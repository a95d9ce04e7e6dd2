//! How a field accepts a value: by its kind, and within the limits of its declaration.

use super::{FieldSpec, limits::folded};
use crate::model::field::{
    Accepted,
    refusal::FieldRefusal,
    visible::{Cleaned, clean, remark},
};
use serde_json::Value;

/// The most texts that a message lists.
const LISTED_MAX: usize = 20;

impl FieldSpec {
    /// The value as it will be sent.
    ///
    /// # Errors
    /// What was expected instead, and what a person cannot see in the value. The message never repeats the value.
    pub fn accept(&self, text: &str) -> Result<Accepted, FieldRefusal> {
        self.read(text).map_err(|mut refusal| {
            refusal.message.extend(remark(text));
            refusal
        })
    }

    fn read(&self, text: &str) -> Result<Accepted, FieldRefusal> {
        if let Some(accepted) = self.named(text) {
            return Ok(accepted);
        }
        let accepted = self.kind.accept(text, self.letter_case);
        let accepted = accepted.map_err(|refusal| self.with_names(self.not_allowed().unwrap_or(refusal)))?;
        let Some(text) = accepted.value.as_str() else { return self.within_allowed(accepted) };
        let length = text.chars().count();
        if let Some(length_max) = self.length_max.filter(|length_max| length > *length_max) {
            return Err(FieldRefusal::invalid(format!("expected at most {length_max} characters, found {length}")));
        }
        if let Some(digits) = self.digits.filter(|digits| !digits.fits(length)) {
            let lost = "; a spreadsheet may have dropped leading zeros: format the column as text and export it again";
            let remedy = if length < digits.min { lost } else { "" };
            return Err(FieldRefusal::invalid(format!("expected {digits}, found {length}{remedy}")));
        }
        if let Some(choices) = &self.choices {
            return match choices.find(text) {
                Some(choice) => Ok(Accepted { value: Value::from(choice), notes: accepted.notes }),
                None => Err(FieldRefusal::invalid(format!("expected {}", self.choices_in_words()))),
            };
        }
        self.within_allowed(accepted)
    }

    fn within_allowed(&self, accepted: Accepted) -> Result<Accepted, FieldRefusal> {
        match self.not_allowed() {
            Some(refusal) if !self.allowed.contains(&accepted.value) => Err(self.with_names(refusal)),
            _ => Ok(accepted),
        }
    }

    /// The refusal of a value that is not one of the allowed ones; `None` if every value is allowed.
    fn not_allowed(&self) -> Option<FieldRefusal> {
        let allowed: Vec<String> = self.allowed.iter().map(Value::to_string).collect();
        (!allowed.is_empty()).then(|| FieldRefusal::invalid(format!("expected one of {}", allowed.join(", "))))
    }

    /// The value for a word.
    fn named(&self, text: &str) -> Option<Accepted> {
        if self.names.is_empty() {
            return None;
        }
        let Cleaned { text, notes } = clean(text);
        let word = folded(&text);
        let (_, value) = self.names.iter().find(|(name, _)| folded(name) == word)?;
        Some(Accepted { value: value.clone(), notes })
    }

    /// The refusal with the words that are accepted too.
    fn with_names(&self, refusal: FieldRefusal) -> FieldRefusal {
        if self.names.is_empty() || self.names.len() > LISTED_MAX {
            return refusal;
        }
        let names: Vec<String> = self.names.keys().map(|name| format!("`{}`", name.replace('_', " "))).collect();
        FieldRefusal { message: format!("{} (or {})", refusal.message, names.join(", ")), ..refusal }
    }

    /// `one of …`: the texts that the field accepts, for people.
    pub fn choices_in_words(&self) -> String {
        let Some(choices) = &self.choices else { return "any text".to_owned() };
        if choices.texts.len() <= LISTED_MAX {
            return format!("one of {}", choices.texts.join(", "));
        }
        let list = choices.list.as_ref().map(|name| format!(" of the list `{name}`")).unwrap_or_default();
        let first = choices.texts.first().map(String::as_str).unwrap_or_default();
        format!("one of the {} texts{list}, such as {first}", choices.texts.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn field(text: &str) -> FieldSpec {
        toml::from_str(text).unwrap()
    }

    fn refused(field: &FieldSpec, text: &str) -> String {
        field.accept(text).err().unwrap().message
    }

    #[test]
    fn words_stand_for_values_and_other_values_are_refused() {
        let entity = field("name = 'entity'\nkind = 'integer'\nallowed = [0, 1]\nnames = { person = 0, company = 1 }");
        for (text, value) in [("0", 0), ("1", 1), ("Person", 0), (" COMPANY ", 1)] {
            assert_eq!(entity.accept(text).unwrap().value, json!(value), "{text}");
        }
        for text in ["2", "trust", "persons", ""] {
            let message = refused(&entity, text);
            assert!(message.contains("`company`") && message.contains("`person`"), "{text}: {message}");
        }
    }

    #[test]
    fn a_number_of_digits_keeps_its_zeros_and_has_the_declared_length() {
        let branch = field("name = 'b'\nkind = 'digits'\ndigits = 6");
        assert_eq!(branch.accept(" 051-001 ").unwrap().value, json!("051001"));
        let short = refused(&branch, "51001");
        assert!(short.contains("expected exactly 6 digits, found 5; a spreadsheet may have dropped"), "{short}");
        assert_eq!(refused(&branch, "0510011"), "expected exactly 6 digits, found 7");
        let account = field("name = 'a'\nkind = 'digits'\ndigits = { min = 7, max = 13 }");
        assert!(account.accept("0000001").is_ok() && account.accept("1234567890123").is_ok());
        assert!(account.accept("123456").is_err() && account.accept("12345678901234").is_err());
    }

    #[test]
    fn a_choice_is_sent_in_the_declared_spelling_and_another_text_is_refused() {
        let bank = field(
            "name = 'bank'\nkind = 'text'\nchoices = ['Standard Bank', 'FNB']\n\
                          names = { 'First National Bank' = 'FNB' }",
        );
        for (text, sent) in [("standard bank", "Standard Bank"), ("fnb", "FNB"), ("First National  Bank", "FNB")] {
            assert_eq!(bank.accept(text).unwrap().value, json!(sent));
        }
        let message = refused(&bank, "Some Other Bank");
        assert_eq!(message, "expected one of Standard Bank, FNB");
        let code = field("name = 'c'\nkind = 'text'\nchoices = 'issuing-codes'");
        assert_eq!(code.accept("zaf").unwrap().value, json!("ZAF"));
        assert!(refused(&code, "XXX").contains("218 texts of the list `issuing-codes`, such as ABK"));
    }
}
