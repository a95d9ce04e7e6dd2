//! A command as a user can copy it into a shell, whatever its arguments contain.

use super::printable::is_printable;

/// The arguments, quoted for a shell.
pub fn quoted(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:%@+".contains(c);
    let quote = |word: &String| {
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else if is_printable(word) {
            format!("'{}'", word.replace('\'', "'\\''"))
        } else {
            escaped(word)
        }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// An argument with characters that are unsafe to print, in the `$'…'` syntax of bash, zsh and POSIX 2024.
fn escaped(word: &str) -> String {
    let mut shown = String::from("$'");
    for c in word.chars() {
        match c {
            '\'' | '\\' => shown.extend(['\\', c]),
            c if is_printable(c.encode_utf8(&mut [0; 4])) => shown.push(c),
            c => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| shown.push_str(&format!("\\{byte:03o}"))),
        }
    }
    shown + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_for_the_shell() {
        let words = ["rescreen", "run", "my book.csv", "--map", "name={{ a }} it's"].map(str::to_owned);
        assert_eq!(quoted(&words), r"rescreen run 'my book.csv' --map 'name={{ a }} it'\''s'");
    }

    #[test]
    fn control_characters_are_escaped_in_shell_syntax() {
        let word = "a\n\u{1b}[2J it's \\ \u{202e}é".to_owned();
        assert_eq!(quoted(&[word]), r"$'a\012\033[2J it\'s \\ \342\200\256é'");
    }
}
