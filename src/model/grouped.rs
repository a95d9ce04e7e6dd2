//! Numbers as people read them.

/// A number with commas between the thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        let texts: Vec<String> = [0, 999, 1_000, 14_719, 1_000_000].into_iter().map(grouped).collect();
        assert_eq!(texts, ["0", "999", "1,000", "14,719", "1,000,000"]);
    }
}
