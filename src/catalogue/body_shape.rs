//! Which bodies a declaration makes. Bodies are recorded when rows are read; after a correction of the declaration, a
//! recorded body may be one that no declaration makes for the route it would be sent to.

use super::{Declaration, RESERVED_FIELDS, UPLOAD_REFERENCE};
use crate::model::field::FieldKind;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What every body of a check has. The default accepts any body.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BodyShape(Option<Shape>);

#[derive(Debug, Clone, PartialEq)]
struct Shape {
    fixed: Map<String, Value>,
    /// The fields that a body may have.
    fields: BTreeMap<String, FieldKind>,
    /// The fields that a body always has.
    needed: Vec<String>,
}

impl BodyShape {
    /// The bodies of this declaration.
    pub fn of(declaration: &Declaration) -> BodyShape {
        let is_needed = |field: &&super::FieldSpec| field.required || field.default.is_some();
        let name = |field: &super::FieldSpec| field.name.clone();
        BodyShape(Some(Shape {
            fixed: declaration.fixed.clone(),
            fields: declaration.fields.iter().map(|field| (field.name.clone(), field.kind)).collect(),
            needed: declaration.fields.iter().filter(is_needed).map(name).collect(),
        }))
    }

    /// Checks that the declaration makes this body.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, body: &[u8]) -> Result<(), String> {
        let Some(shape) = &self.0 else { return Ok(()) };
        let body: Map<String, Value> = serde_json::from_slice(body).map_err(|_| "it is not an object".to_owned())?;
        for (name, value) in &shape.fixed {
            match body.get(name) {
                Some(sent) if sent == value => {}
                Some(_) => return Err(format!("it has another `{name}`, and the declaration has {value}")),
                None => return Err(format!("it has no `{name}`, and the declaration has {value}")),
            }
        }
        let is_ours = |name: &str| RESERVED_FIELDS.contains(&name) || name == UPLOAD_REFERENCE;
        let is_known =
            |name: &String| shape.fields.contains_key(name) || shape.fixed.contains_key(name) || is_ours(name);
        if let Some(name) = body.keys().find(|name| !is_known(name)) {
            return Err(format!("it has `{name}`, which the declaration does not have"));
        }
        let fits = |kind: FieldKind, value: &Value| match kind {
            FieldKind::Integer => value.is_number(),
            FieldKind::Boolean => value.is_boolean(),
            _ => value.is_string(),
        };
        let mistyped = body.iter().find_map(|(name, value)| {
            let kind = *shape.fields.get(name)?;
            (!fits(kind, value)).then_some((name, kind))
        });
        if let Some((name, kind)) = mistyped {
            return Err(format!("its `{name}` is not of the kind `{}` that the declaration has", kind.as_str()));
        }
        match shape.needed.iter().find(|name| !body.contains_key(*name)) {
            Some(name) => Err(format!("it has no `{name}`, which the declaration always sends")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    #[test]
    fn a_body_of_another_declaration_is_named_by_its_first_difference() {
        let catalogue = Catalogue::built_in();
        let declaration = catalogue.get("number-plate").unwrap();
        let body = br#"{"mode":"production","registrationNumber":"CA123456"}"#;
        assert_eq!(BodyShape::of(declaration).check(body), Ok(()));
        assert_eq!(BodyShape::default().check(b"anything"), Ok(()));
        let differs = |change: fn(&mut Declaration)| {
            let mut declaration = declaration.clone();
            change(&mut declaration);
            BodyShape::of(&declaration).check(body).unwrap_err()
        };
        assert!(differs(|one| _ = one.fixed.insert("bundle".to_owned(), "x".into())).contains("no `bundle`"));
        assert!(differs(|one| one.fields[0].name = "plate".to_owned()).contains("it has `registrationNumber`"));
        assert!(differs(|one| one.fields[0].kind = FieldKind::Integer).contains("kind `integer`"));
        let mut first = declaration.fields[0].clone();
        first.name = "other".to_owned();
        let mut more = declaration.clone();
        more.fields.push(first);
        assert!(BodyShape::of(&more).check(body).unwrap_err().contains("it has no `other`"));
    }
}
