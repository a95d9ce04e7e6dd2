//! Lines of at most 80 columns.

/// The width of the screen.
pub const WIDTH: usize = 80;

/// Breaks a text at spaces into lines of at most 80 columns, the first after `first`, the others indented by `indent`. A
/// word that is longer than a line is not broken.
pub fn paragraph(first: &str, indent: usize, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_begun = false;
    for word in text.split(' ') {
        let room = WIDTH.saturating_sub(line.chars().count() + usize::from(is_begun));
        if is_begun && word.chars().count() > room {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            is_begun = false;
        }
        if is_begun {
            line.push(' ');
        }
        line.push_str(word);
        is_begun = true;
    }
    lines.push(line);
    lines
}

/// At most this many lines of a paragraph. If it was cut, the last one says so.
pub fn cut(mut lines: Vec<String>, most: usize) -> Vec<String> {
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            let kept: String = last.chars().take(WIDTH - 2).collect();
            *last = format!("{} …", kept.trim_end());
        }
    }
    lines
}

/// A line, cut if it is longer than the screen.
pub fn cut_line(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    line.chars().take(WIDTH - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_broken_at_spaces_and_indented() {
        let text = "word ".repeat(29);
        let lines = paragraph("  first: ", 4, text.trim_end());
        assert!(lines.len() == 2 && lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
        assert!(lines[0].starts_with("  first: word") && lines[1].starts_with("    word"), "{lines:?}");
        assert_eq!(cut(lines, 1)[0].chars().last(), Some('…'));
        assert_eq!((cut_line(&"x".repeat(80)), cut_line(&"x".repeat(81))), ("x".repeat(80), "x".repeat(79) + "…"));
        assert_eq!(paragraph("a ", 2, &"x".repeat(100)), [format!("a {}", "x".repeat(100))]);
    }
}
