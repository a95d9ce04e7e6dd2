//! The receiver in the body of a request. It is added once, when the row is read, and is not part of the key: the same
//! content is one request, wherever its result is delivered to.

use crate::{
    error::Error,
    ledger::Receiver,
    pipeline::campaign::receiver::{delivery_url, id_of},
};
use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc};

/// What is added to the bodies of some checks. The default adds nothing.
#[derive(Clone, Default)]
pub struct BodyReceiver {
    /// The checks whose requests name a receiver.
    checks: Arc<BTreeSet<String>>,
    /// The members, in JSON, with a comma before each.
    members: Arc<str>,
}

impl BodyReceiver {
    /// The receiver in the bodies of these checks.
    ///
    /// # Errors
    /// The ledger is damaged.
    pub fn new(receiver: &Receiver, checks: BTreeSet<String>) -> Result<BodyReceiver, Error> {
        let url = Value::from(delivery_url(&receiver.base, &id_of(receiver)?));
        let secret = Value::from(receiver.secret.as_str());
        let members = format!(r#","webhookUrl":{url},"webhookSecret":{secret}"#);
        Ok(BodyReceiver { checks: Arc::new(checks), members: members.into() })
    }

    /// The body of a request of this check, which is a JSON object that is not empty.
    pub fn named_in(&self, check: &str, mut body: Vec<u8>) -> Vec<u8> {
        if self.checks.contains(check) && body.last() == Some(&b'}') {
            body.pop();
            body.extend_from_slice(self.members.as_bytes());
            body.push(b'}');
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receiver_is_the_last_member_of_the_bodies_of_its_checks() {
        let secret = "0123456789abcdef0123456789abcdef".to_owned();
        let receiver =
            Receiver { id: "0123456789abcdef".to_owned(), base: "https://hooks.example.co.za".to_owned(), secret };
        let added = BodyReceiver::new(&receiver, BTreeSet::from(["bank".to_owned()])).unwrap();
        let body = br#"{"mode":"sandbox"}"#.to_vec();
        assert_eq!(
            String::from_utf8(added.named_in("bank", body.clone())).unwrap(),
            "{\"mode\":\"sandbox\",\"webhookUrl\":\"https://hooks.example.co.za/hooks/0123456789abcdef\",\
             \"webhookSecret\":\"0123456789abcdef0123456789abcdef\"}"
        );
        assert_eq!(added.named_in("other", body.clone()), body);
        assert_eq!(BodyReceiver::default().named_in("bank", body.clone()), body);
    }
}
