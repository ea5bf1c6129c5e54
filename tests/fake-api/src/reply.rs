//! What the server answers, and where it breaks off.

use std::time::Duration;

use bytes::Bytes;

/// One answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Extra headers; `content-type: application/json` is added unless one is given.
    pub headers: Vec<(String, String)>,
    /// Body bytes, sent as they are.
    pub body: Bytes,
    /// Time between the request's last byte and the answer's first.
    pub delay: Duration,
    /// What goes wrong.
    pub fault: Fault,
}

/// A fault of the transport, placed exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Head with the full length, `after` bytes of the body, then a clean close.
    Cut {
        /// Body bytes sent first.
        after: usize,
    },
    /// The connection is closed without any answer.
    Close,
    /// No answer; the connection stays open until the peer leaves.
    Hang,
    /// Nothing goes wrong.
    None,
    /// RST instead of an answer: the request was taken (committed), the answer is lost.
    Reset,
    /// Head, `after` bytes of the body, then silence until the peer leaves.
    Stall {
        /// Body bytes sent first.
        after: usize,
    },
}

impl Reply {
    /// An answer with this status and JSON (or any) text.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), delay: Duration::ZERO, fault: Fault::None }
    }

    /// The API's error envelope.
    #[must_use]
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        let body = serde_json::json!({"error": {"code": code, "message": message}});
        Self::new(status, body.to_string())
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Waits before the first byte.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Breaks off as `fault` says.
    #[must_use]
    pub fn with(mut self, fault: Fault) -> Self {
        self.fault = fault;
        self
    }

    /// The request is taken and nothing comes back.
    #[must_use]
    pub fn fault(fault: Fault) -> Self {
        Self::new(200, "{}").with(fault)
    }
}
