//! One request for every endpoint, and one method of [`Client`] beside it.
//!
//! Bodies are JSON texts in UTF-8 that the caller made; ids are percent-encoded here.
//!
//! Source: HTTP API, section 2.

use bytes::Bytes;
use http::Method;

use crate::client::Client;
use crate::error::CallError;
use crate::request::{IdempotencyKey, Kind, Promised, Request, RetryClass};
use crate::response::Answer;

const fn promised(name: &'static str, kind: Kind) -> Promised {
    Promised { name, kind }
}

/// Body sent where an endpoint takes an object without members.
const EMPTY_OBJECT: Bytes = Bytes::from_static(b"{}");

macro_rules! endpoints {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($arg:ident: $kind:ty),*) -> $build:expr;
    )*) => {
        $(
            $(#[$doc])*
            #[must_use]
            pub fn $name($($arg: $kind),*) -> Request {
                $build
            }
        )*

        impl Client {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                ///
                /// Those of [`Client::call`].
                pub async fn $name(&self, $($arg: $kind),*) -> Result<Answer, CallError> {
                    self.call($name($($arg),*)).await
                }
            )*
        }
    };
}

endpoints! {
    /// POST /v1/check: a verdict on an action or on claims. A read: free to repeat, never keyed.
    fn check(body: Bytes) -> Request::post("/v1/check", body)
        .retry(RetryClass::WaitOnce)
        .promising(const { &[promised("decision", Kind::String)] });

    /// GET /v1/receipts/{id}: a receipt exactly as signed.
    fn receipt(id: &str) -> Request::get("/v1/receipts")
        .segment(id)
        .promising(const { &[promised("receipt", Kind::Object)] });

    /// POST /v1/sources: registers a source to watch.
    fn add_source(body: Bytes) -> Request::post("/v1/sources", body)
        .promising(const { &[promised("source", Kind::Object)] });

    /// GET /v1/sources: the sources watched, paused ones only with `inactive`.
    fn sources(inactive: Inactive) -> match inactive {
        Inactive::Include => Request::get("/v1/sources?include_inactive=true"),
        Inactive::Leave => Request::get("/v1/sources"),
    }
    .promising(const { &[promised("sources", Kind::Array)] });

    /// GET /v1/sources/{id}: one source.
    fn source(id: &str) -> Request::get("/v1/sources")
        .segment(id)
        .promising(const { &[promised("source", Kind::Object)] });

    /// DELETE /v1/sources/{id}: removes a source and frees its place.
    fn remove_source(id: &str) -> Request::new(Method::DELETE, "/v1/sources")
        .segment(id)
        .promising(const { &[promised("deleted", Kind::Any)] });

    /// POST /v1/sources/{id}/pause: stops polling a source.
    fn pause_source(id: &str) -> Request::post("/v1/sources", EMPTY_OBJECT)
        .segment(id)
        .path("/pause")
        .promising(const { &[promised("source", Kind::Object)] });

    /// POST /v1/sources/{id}/resume: polls a paused source again.
    fn resume_source(id: &str) -> Request::post("/v1/sources", EMPTY_OBJECT)
        .segment(id)
        .path("/resume")
        .promising(const { &[promised("source", Kind::Object)] });

    /// POST /v1/sources/{id}/recompile: plans anew how a source is read.
    fn recompile_source(id: &str) -> Request::post("/v1/sources", EMPTY_OBJECT)
        .segment(id)
        .path("/recompile")
        .promising(const { &[promised("job_id", Kind::String)] });

    /// POST /v1/events: pushes a version of a document.
    fn push_event(body: Bytes) -> Request::post("/v1/events", body)
        .promising(const { &[promised("accepted", Kind::Any)] });

    /// POST /v1/webhooks: subscribes a callback. Keyed, not repeated; the answer holds the signing secret.
    fn add_webhook(body: Bytes, key: IdempotencyKey) -> Request::post("/v1/webhooks", body)
        .keyed(key, RetryClass::Never)
        .promising(const { &[promised("subscription", Kind::Object)] });

    /// GET /v1/webhooks: the subscriptions.
    fn webhooks() -> Request::get("/v1/webhooks")
        .promising(const { &[promised("subscriptions", Kind::Array)] });

    /// PATCH /v1/webhooks/{id}: switches a subscription on or off.
    fn update_webhook(id: &str, body: Bytes) -> Request { method: Method::PATCH, ..Request::post("/v1/webhooks", body) }
        .segment(id)
        .promising(const { &[promised("subscription_id", Kind::String)] });

    /// DELETE /v1/webhooks/{id}: ends a subscription.
    fn remove_webhook(id: &str) -> Request::new(Method::DELETE, "/v1/webhooks")
        .segment(id)
        .promising(const { &[promised("subscription_id", Kind::String)] });

    /// GET /v1/webhooks/{id}/deliveries: a page of the delivery log, newest first. `before` is an RFC 3339 time,
    /// `limit` 1 to 200.
    fn webhook_deliveries(id: &str, before: Option<&str>, limit: Option<u16>) -> {
        let mut request = Request::get("/v1/webhooks").segment(id).path("/deliveries");
        if let Some(before) = before {
            request = request.query("before", before);
        }
        if let Some(limit) = limit {
            request = request.query("limit", &limit.to_string());
        }
        request.promising(const { &[promised("items", Kind::Array)] })
    };

    /// POST /v1/webhooks/{id}/rotate: makes a new signing secret; the answer holds it.
    fn rotate_webhook(id: &str, body: Bytes) -> Request::post("/v1/webhooks", body)
        .segment(id)
        .path("/rotate")
        .promising(const { &[promised("rotation", Kind::Object)] });

    /// POST /v1/webhook-deliveries/{id}/replay: delivers once more. The shape of the answer is open.
    fn replay_delivery(id: &str) -> Request::post("/v1/webhook-deliveries", EMPTY_OBJECT)
        .segment(id)
        .path("/replay");

    /// POST /v1/report-outcome: what became of a verdict.
    fn report_outcome(body: Bytes) -> Request::post("/v1/report-outcome", body)
        .promising(const { &[promised("ok", Kind::Any)] });

    /// POST /v1/verify (deprecated by the API): a billable verification. Repeated once with the same key where
    /// its outcome is unknown.
    fn verify(body: Bytes, key: IdempotencyKey) -> Request::post("/v1/verify", body)
        .keyed(key, RetryClass::SameKey)
        .promising(const { &[promised("status", Kind::String)] });

    /// GET /health: whether the API answers. Sends no key.
    fn health() -> Request::get("/health")
        .public()
        .promising(const { &[promised("ok", Kind::Any)] });

    /// GET /v1/proof-verification-keys: the keyset of receipts, in one of several envelopes. Sends no key.
    fn verification_keys() -> Request::get("/v1/proof-verification-keys").public();

    /// GET /v1/proof-verification-keys/{kid}: one key, in one of several envelopes. Sends no key.
    fn verification_key(kid: &str) -> Request::get("/v1/proof-verification-keys").segment(kid).public();
}

/// Whether paused sources are listed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Inactive {
    /// Listed beside the active ones.
    Include,
    /// Left out.
    Leave,
}
