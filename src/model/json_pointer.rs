//! Finds a value by its JSON pointer, without copying the names in the pointer as [`Value::pointer`] does. Each answer needs many
//! of these lookups.

use serde_json::Value;

/// The value at a JSON pointer, like [`Value::pointer`]. The names are copied only if the pointer has an escape (`~`).
pub fn at<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    if pointer.contains('~') {
        return value.pointer(pointer);
    }
    let Some(names) = pointer.strip_prefix('/') else { return pointer.is_empty().then_some(value) };
    names.split('/').try_fold(value, |value, name| match value {
        Value::Object(members) => members.get(name),
        Value::Array(items) => items.get(index(name)?),
        _ => None,
    })
}

/// An index of a list: digits without a sign or leading zeros.
fn index(name: &str) -> Option<usize> {
    let has_other_form = name.starts_with('+') || name.len() > 1 && name.starts_with('0');
    if has_other_form { None } else { name.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pointer_finds_what_serde_json_finds() {
        let value = json!({"a": {"b/c": [1, {"": 2, "~": 3}], "": 4}, "0": [[5], "x"], "": {"": 6}});
        let pointers = [
            "",
            "/",
            "//",
            "a",
            "/a",
            "/a/",
            "/a/b~1c",
            "/a/b~1c/0",
            "/a/b~1c/1/",
            "/a/b~1c/1/~0",
            "/0",
            "/0/0",
            "/0/0/0",
            "/0/00",
            "/0/+0",
            "/0/-0",
            "/0/1",
            "/0/2",
            "/0/1/0",
            "/0/",
            "/a/b/c",
            "/é",
            "/0/99999999999999999999999",
        ];
        for pointer in pointers {
            assert_eq!(at(&value, pointer), value.pointer(pointer), "{pointer}");
        }
    }
}
