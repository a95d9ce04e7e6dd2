//! Sandbox requests that no person is behind: invented values of the right form for each field. Where the service has
//! reserved inputs, they end in 90, which has no finding.

use crate::{
    catalogue::{Declaration, FieldRule, FieldSpec},
    model::{Mode, field::FieldKind},
};
use serde_json::{Map, Value};

/// The body of a sandbox request. `variant` 0 and 1 differ in their content. `None` if a field has no invented value,
/// such as an image.
pub(super) fn body(declaration: &Declaration, variant: usize) -> Option<Map<String, Value>> {
    let mut body = declaration.fixed.clone();
    body.insert("mode".to_owned(), Mode::Sandbox.as_str().into());
    let chosen = declaration.rules.iter().filter_map(|rule| match rule {
        FieldRule::OneOf(fields) => fields.first(),
        FieldRule::Together(_) | FieldRule::AtMostOne(_) => None,
    });
    let chosen: Vec<&String> = chosen.collect();
    for field in declaration.fields.iter().filter(|field| field.required || chosen.contains(&&field.name)) {
        body.insert(field.name.clone(), value(field, variant)?);
    }
    Some(body)
}

fn value(field: &FieldSpec, variant: usize) -> Option<Value> {
    if let Some(allowed) = field.allowed.first() {
        return Some(allowed.clone());
    }
    let text = match field.kind {
        FieldKind::Text => ["Rescreen Doctor 90", "Rescreen Doctor 190"][variant % 2],
        FieldKind::Integer => "0",
        FieldKind::Boolean => "true",
        FieldKind::SaId => ["8001015009087", "9111060123086"][variant % 2],
        FieldKind::Country2 => "za",
        FieldKind::Country3 => "zaf",
        FieldKind::Date => "1980-01-01",
        FieldKind::RegistrationNumber => ["2019/000090/07", "2019/000190/07"][variant % 2],
        FieldKind::Vin => ["1M8GDM9AXKP042788", "11111111111111111"][variant % 2],
        FieldKind::Plate => ["CA12390", "CA12490"][variant % 2],
        FieldKind::Base64 => ["UmVzY3JlZW4gRG9jdG9yIDkw", "UmVzY3JlZW4gRG9jdG9yIDE5MA=="][variant % 2],
        #[allow(unreachable_patterns)]
        _ => return None,
    };
    let short: String = text.chars().take(field.length_max.unwrap_or(usize::MAX)).collect();
    field.accept(&short).ok().map(|accepted| accepted.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    #[test]
    fn every_sample_is_a_valid_sandbox_request() {
        for declaration in Catalogue::built_in().iter() {
            let Some(body) = body(declaration, 0) else { continue };
            assert_eq!(body["mode"], "sandbox", "{}", declaration.name);
            for field in declaration.fields.iter().filter(|field| field.required) {
                assert!(body.contains_key(&field.name), "{}.{}", declaration.name, field.name);
            }
            assert!(declaration.rules.iter().all(|rule| rule.check(&body).is_ok()), "{}", declaration.name);
        }
    }

    #[test]
    fn two_samples_differ_and_no_identifier_is_shortened_to_nonsense() {
        let catalogue = Catalogue::built_in();
        for name in ["aml-screening", "said-verification", "vehicle-check", "vin-decode", "cipc-company"] {
            let declaration = catalogue.get(name).unwrap();
            assert_ne!(body(declaration, 0).unwrap(), body(declaration, 1).unwrap(), "{name}");
        }
    }
}
