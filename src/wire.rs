//! What the line transport knows about a request and rmcp's types cannot carry.
//!
//! rmcp holds arguments and results as `serde_json::Value`, which re-prints numbers and merges equal
//! members. The transport therefore hands the bytes of the arguments on beside the request, and takes
//! the bytes of the result past rmcp straight to the client.

use std::sync::Arc;

use crate::stdio::outbox::{Outbox, Reply};
use crate::version::Version;

/// Travels in the extensions of a request that came in through the line transport.
#[derive(Clone, Debug)]
pub(crate) struct Wire(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    outbox: Arc<Outbox>,
    key: u64,
    version: Version,
    arguments: Option<Box<str>>,
    progress_token: Option<Box<str>>,
    traceparent: Option<Box<str>>,
}

/// The parts of a request that are kept as text.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    /// `params.arguments`, an object.
    pub(crate) arguments: Option<Box<str>>,
    /// `params._meta.progressToken`, as spelled.
    pub(crate) progress_token: Option<Box<str>>,
    /// `params._meta.traceparent`, unquoted.
    pub(crate) traceparent: Option<Box<str>>,
}

impl Wire {
    pub(crate) fn new(outbox: Arc<Outbox>, key: u64, version: Version, texts: Texts) -> Self {
        let Texts { arguments, progress_token, traceparent } = texts;
        Self(Arc::new(Inner { outbox, key, version, arguments, progress_token, traceparent }))
    }

    pub(crate) fn version(&self) -> Version {
        self.0.version
    }

    pub(crate) fn arguments(&self) -> Option<&str> {
        self.0.arguments.as_deref()
    }

    pub(crate) fn progress_token(&self) -> Option<&str> {
        self.0.progress_token.as_deref()
    }

    pub(crate) fn traceparent(&self) -> Option<&str> {
        self.0.traceparent.as_deref()
    }

    /// Waits until the client has taken enough of what it was answered before.
    pub(crate) async fn has_room(&self) {
        self.0.outbox.has_room().await;
    }

    /// Answers the request with these bytes, unless it was cancelled meanwhile.
    pub(crate) fn finish(&self, result: &[u8]) {
        self.0.outbox.finish(self.0.key, &Reply::Result(result));
    }

    /// Writes a notification about the request, unless it is over.
    pub(crate) fn notify(&self, notification: &[u8]) {
        self.0.outbox.notify(self.0.key, notification);
    }
}
