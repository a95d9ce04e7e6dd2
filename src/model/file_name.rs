//! Names that become files and folders. A campaign may be moved to another system, so a name that Windows reserves for
//! a device, or would truncate at its end, is refused on every system.

/// Device names of Windows, with or without an extension, case-insensitive.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
/// Device names that are followed by a digit.
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// Refuses a name that is not valid for a file or a folder on every system.
///
/// # Errors
/// What is wrong with the name, and what to do.
pub fn check_file_name(name: &str) -> Result<(), String> {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let is_numbered = |device: &str| {
        let digit = stem.strip_prefix(device);
        digit.is_some_and(|digit| digit.len() == 1 && digit.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if DEVICES.contains(&stem.as_str()) || NUMBERED_DEVICES.into_iter().any(is_numbered) {
        return Err(format!("`{stem}` is reserved by Windows and cannot name a file or a folder; choose another name"));
    }
    if name.ends_with(['.', ' ']) {
        return Err("a file or a folder cannot end in a dot or a space on Windows; choose another name".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_device_names_are_refused_with_and_without_an_extension() {
        for name in
            ["con", "CON", "Nul", "aux.txt", "prn.2026.11", "com0", "COM9", "lpt1.x", "con .txt", "a.", "a ", "."]
        {
            assert!(check_file_name(name).is_err(), "{name}");
        }
        for name in ["", "2026-11", "console", "com", "com10", "lpt-1", "comx", "a.con", "nul-1", ".con"] {
            assert!(check_file_name(name).is_ok(), "{name}");
        }
    }
}
