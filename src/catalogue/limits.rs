//! Limits of a field's value in a declaration: how many digits, and which texts. A list of texts is in the declaration,
//! or is a built-in one with a name.

use super::built_in::LISTS;
use crate::model::nearest::hint;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use std::fmt;

/// How many digits a number has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digits {
    pub min: usize,
    pub max: usize,
}

impl Digits {
    /// Whether a number has as many digits as it must.
    pub fn fits(self, count: usize) -> bool {
        (self.min..=self.max).contains(&count)
    }
}

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max {
            write!(f, "exactly {} digits", self.min)
        } else {
            write!(f, "{} to {} digits", self.min, self.max)
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    min: usize,
    max: usize,
}

impl Serialize for Digits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.min == self.max {
            serializer.serialize_u64(self.min as u64)
        } else {
            Range { min: self.min, max: self.max }.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Digits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digits, D::Error> {
        deserializer.deserialize_any(DigitsVisitor)
    }
}

struct DigitsVisitor;

impl<'de> Visitor<'de> for DigitsVisitor {
    type Value = Digits;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of digits such as `6`, or `{ min = 7, max = 13 }`")
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<Digits, E> {
        self.visit_i64(i64::try_from(count).unwrap_or(i64::MAX))
    }

    fn visit_i64<E: Error>(self, count: i64) -> Result<Digits, E> {
        match usize::try_from(count) {
            Ok(count) if count > 0 => Ok(Digits { min: count, max: count }),
            _ => Err(E::custom("expected at least one digit")),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Digits, A::Error> {
        let Range { min, max } = Range::deserialize(MapAccessDeserializer::new(map))?;
        if min == 0 || min > max {
            return Err(A::Error::custom("expected `min` of at least 1 and `max` of at least `min`"));
        }
        Ok(Digits { min, max })
    }
}

/// The texts that a field accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    /// The name of the built-in list; `None` if the declaration has the texts.
    pub list: Option<String>,
    pub texts: Vec<String>,
}

impl Choices {
    /// The choice that a row's value means, in the service's spelling.
    pub fn find(&self, text: &str) -> Option<&str> {
        let wanted = folded(text);
        self.texts.iter().find(|choice| *choice == text || folded(choice) == wanted).map(String::as_str)
    }
}

/// A text reduced to its letters and digits, in lower case.
pub(super) fn folded(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

impl Serialize for Choices {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.list {
            Some(name) => serializer.serialize_str(name),
            None => self.texts.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Choices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Choices, D::Error> {
        deserializer.deserialize_any(ChoicesVisitor)
    }
}

struct ChoicesVisitor;

impl<'de> Visitor<'de> for ChoicesVisitor {
    type Value = Choices;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of texts, or the name of a built-in list such as `issuing-codes`")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Choices, E> {
        match LISTS.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => {
                Ok(Choices { list: Some(name.to_owned()), texts: text.lines().map(str::to_owned).collect() })
            }
            None => {
                let hint = hint(name, LISTS.iter().map(|(known, _)| *known));
                Err(E::custom(format!("there is no built-in list with this name{hint}; write the texts as a list")))
            }
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Choices, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = list.next_element::<String>()? {
            texts.push(text);
        }
        if texts.is_empty() {
            Err(A::Error::custom("expected at least one text"))
        } else {
            Ok(Choices { list: None, texts })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Serialize)]
    struct Limited {
        digits: Option<Digits>,
        choices: Option<Choices>,
    }

    fn read(text: &str) -> Result<Limited, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn digits_are_a_number_or_a_range() {
        let digits = |text: &str| read(text).map(|limited| limited.digits.unwrap().to_string());
        assert_eq!(digits("digits = 6").unwrap(), "exactly 6 digits");
        assert_eq!(digits("digits = { min = 7, max = 13 }").unwrap(), "7 to 13 digits");
        for text in ["digits = 0", "digits = -1", "digits = { min = 8, max = 7 }", "digits = \"6\""] {
            assert!(digits(text).is_err(), "{text}");
        }
        assert!(digits("digits = { min = 8, mx = 7 }").unwrap_err().contains("unknown field `mx`"));
    }

    #[test]
    fn a_choice_is_found_in_any_spelling_and_sent_in_the_services() {
        let banks = read("choices = ['Standard Bank', 'FNB']").unwrap().choices.unwrap();
        assert_eq!(banks.find("STANDARD  bank"), Some("Standard Bank"));
        assert_eq!((banks.find("f.n.b."), banks.find("Standard"), banks.find("")), (Some("FNB"), None, None));
    }

    #[test]
    fn a_built_in_list_has_a_name_and_is_written_as_that() {
        let limited = read("choices = 'issuing-codes'").unwrap();
        let codes = limited.choices.as_ref().unwrap();
        assert_eq!((codes.texts.len(), codes.find("rks"), codes.find("zzz")), (218, Some("RKS"), None));
        assert_eq!(serde_json::to_value(&limited).unwrap()["choices"], "issuing-codes");
        assert!(read("choices = 'issuing-code'").err().unwrap().contains("did you mean `issuing-codes`?"));
        assert!(read("choices = []").is_err());
    }
}
