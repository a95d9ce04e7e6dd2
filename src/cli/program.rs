//! The name of the program in the commands that it prints. Someone who built it and did not install it starts it by a
//! path, and can only copy a command that begins with that path.

use std::path::Path;

/// What a printed command begins with.
pub fn program() -> String {
    named(std::env::args_os().next().as_deref().map(Path::new))
}

/// A command line that the library begins with `rescreen`, as this program was started.
pub fn called(mut words: Vec<String>) -> Vec<String> {
    if let Some(first) = words.first_mut().filter(|first| *first == "rescreen") {
        *first = program();
    }
    words
}

/// A path relative to the working folder is repeated. A program in the search path, or one that a service starts by its
/// whole path, is called by its name.
fn named(started_as: Option<&Path>) -> String {
    let path = started_as.filter(|path| path.is_relative() && path.components().count() > 1);
    let text = path.and_then(Path::to_str).map(str::to_owned);
    text.unwrap_or_else(|| "rescreen".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_started_by_a_relative_path_is_called_so() {
        for (started_as, name) in [
            (Some("target/debug/rescreen"), "target/debug/rescreen"),
            (Some("./rescreen"), "./rescreen"),
            (Some("rescreen"), "rescreen"),
            (Some("/usr/local/bin/rescreen"), "rescreen"),
            (None, "rescreen"),
        ] {
            assert_eq!(named(started_as.map(Path::new)), name);
        }
    }
}
