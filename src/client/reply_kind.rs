//! The kind of a reply: what its status says, whatever was requested. The readers of replies decide by the kind, and no
//! other module decides by the number.

/// The kind of a reply, or of a request that got none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    /// No reply, and no byte of the request was written.
    NotWritten,
    /// No reply, and it is unknown what arrived.
    NoReply,
    /// 2xx, except 202.
    Success,
    /// 202: the answer comes later.
    Accepted,
    /// 3xx. None is followed.
    Redirect,
    /// 400, 413, 415 or 422: the content is refused.
    Refused,
    /// 401.
    Unauthorised,
    /// 402.
    NoCredits,
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 405: the route has no such method.
    NoMethod,
    /// 407: a proxy asks who we are. RFC 9110, 15.5.8.
    ProxyLogin,
    /// 408.
    Timeout,
    /// 409: the key belongs to another request, or to one that is still being processed.
    Conflict,
    /// 410.
    Gone,
    /// 429.
    TooMany,
    /// Any other 4xx.
    OtherRefusal,
    /// 5xx, except 503 and 511.
    ServerError,
    /// 503.
    Unavailable,
    /// 511: a network asks the user to sign in. RFC 6585, 6.
    SignIn,
    /// A status that HTTP does not define.
    Undefined,
}

impl ReplyKind {
    /// The kind of a reply with this status.
    pub fn of(status: u16) -> ReplyKind {
        match status {
            202 => ReplyKind::Accepted,
            200..300 => ReplyKind::Success,
            300..400 => ReplyKind::Redirect,
            400 | 413 | 415 | 422 => ReplyKind::Refused,
            401 => ReplyKind::Unauthorised,
            402 => ReplyKind::NoCredits,
            403 => ReplyKind::Forbidden,
            404 => ReplyKind::NotFound,
            405 => ReplyKind::NoMethod,
            407 => ReplyKind::ProxyLogin,
            408 => ReplyKind::Timeout,
            409 => ReplyKind::Conflict,
            410 => ReplyKind::Gone,
            429 => ReplyKind::TooMany,
            400..500 => ReplyKind::OtherRefusal,
            503 => ReplyKind::Unavailable,
            511 => ReplyKind::SignIn,
            500..600 => ReplyKind::ServerError,
            _ => ReplyKind::Undefined,
        }
    }

    /// Whether it is a 2xx.
    pub fn is_success(self) -> bool {
        matches!(self, ReplyKind::Success | ReplyKind::Accepted)
    }

    /// Whether the API key is refused, or its rights.
    pub fn is_unauthorised(self) -> bool {
        matches!(self, ReplyKind::Unauthorised | ReplyKind::Forbidden)
    }

    /// Whether the address leads to no route of the service.
    pub fn is_misrouted(self) -> bool {
        matches!(self, ReplyKind::Redirect | ReplyKind::NotFound | ReplyKind::NoMethod)
    }

    /// Whether it is about the account: the API key, its credits or its rate.
    pub fn is_about_account(self) -> bool {
        self.is_unauthorised() || matches!(self, ReplyKind::NoCredits | ReplyKind::TooMany)
    }

    /// Whether no working service was reached.
    pub fn is_outage(self) -> bool {
        matches!(self, ReplyKind::NotWritten | ReplyKind::NoReply | ReplyKind::Undefined) || self.is_server_error()
    }

    /// Whether it is a 4xx or 5xx.
    pub fn is_error(self) -> bool {
        let has_reply = !matches!(self, ReplyKind::NotWritten | ReplyKind::NoReply | ReplyKind::Undefined);
        has_reply && !self.is_success() && self != ReplyKind::Redirect
    }

    /// Whether it is a 5xx.
    pub fn is_server_error(self) -> bool {
        matches!(self, ReplyKind::ServerError | ReplyKind::Unavailable | ReplyKind::SignIn)
    }

    /// Whether it is a 3xx or 4xx, except 408 and 429: repeating the request will not help.
    pub fn is_final(self) -> bool {
        !(self.is_success() || self.is_outage() || matches!(self, ReplyKind::Timeout | ReplyKind::TooMany))
    }
}
