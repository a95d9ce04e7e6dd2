//! How far a file of decisions went when it was used. A later state of the same file continues it.

/// The end of a file of decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionsHead {
    /// The number of decisions.
    pub count: u64,
    /// The digest of the last line and of all before it, in hexadecimal. It is empty if there is none.
    pub chain: String,
}
