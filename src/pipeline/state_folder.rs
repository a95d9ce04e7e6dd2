//! The user's state folder of rescreen.

use std::{ffi::OsString, path::PathBuf};

/// The state folder: `$XDG_STATE_HOME/rescreen`, or `~/.local/state/rescreen`.
pub fn state_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    state.map(|folder| folder.join("rescreen"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_folder_follows_xdg_or_home_and_is_absolute() {
        let folder = |xdg: Option<&str>, home: Option<&str>| {
            let found = state_folder(|name| if name == "HOME" { home } else { xdg }.map(OsString::from));
            found.map(|path| path.display().to_string())
        };
        assert_eq!(folder(Some("/state"), Some("/home/jo")).as_deref(), Some("/state/rescreen"));
        assert_eq!(folder(Some("state"), Some("/home/jo")).as_deref(), Some("/home/jo/.local/state/rescreen"));
        assert_eq!(folder(None, Some("/home/jo")).as_deref(), Some("/home/jo/.local/state/rescreen"));
        assert_eq!(folder(Some(""), None), None);
    }
}
