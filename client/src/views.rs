//! Typed readings of response bodies, made on demand with [`crate::response::Answer::view`].
//!
//! Unknown members are ignored, and the text of the answer stays the truth: nothing here is written back. Values
//! that the contract lists and that may grow are enums with a variant for anything else, so that a new word of the API is no
//! error, and never one that permits acting.
//!
//! Source: HTTP API, sections 3 to 11.

use serde::Deserialize;
use serde_json::Value;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)*
            /// A word that this crate does not know.
            #[serde(untagged)]
            Other(String),
        }
    };
}

words! {
    /// Verdict of a check.
    Decision {
        /// The action may go ahead: the only verdict that permits it.
        Allow = "ALLOW",
        /// The action must not go ahead.
        Block = "BLOCK",
        /// A belief has changed or cannot be confirmed: never permission.
        Review = "REVIEW",
    }
}

words! {
    /// State of one fact.
    FactStatus {
        /// Still so.
        Holds = "holds",
        /// No longer so.
        Changed = "changed",
        /// Not known.
        Unknown = "unknown",
    }
}

words! {
    /// How much depends on a fact.
    Materiality {
        /// Little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// Much.
        High = "high",
        /// Everything.
        Critical = "critical",
    }
}

words! {
    /// Kind of a watched source.
    SourceKind {
        /// A connected system.
        Connection = "connection",
        /// Found by the API itself.
        Discovered = "discovered",
        /// A named authority that resolves to sources.
        Entity = "entity",
        /// Documents pushed by the user.
        Push = "push",
        /// A page that is polled.
        Url = "url",
    }
}

words! {
    /// Outcome of a deprecated verification.
    VerifyStatus {
        /// The evidence could not settle it.
        CouldNotVerify = "could_not_verify",
        /// The conclusion does not hold.
        Invalidated = "invalidated",
        /// The conclusion holds.
        Valid = "valid",
    }
}

/// Answer of POST /v1/check.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct Check {
    /// The verdict.
    pub decision: Decision,
    /// Why, as upper-case words.
    pub reason_codes: Vec<String>,
    /// One entry for each fact judged.
    pub facts: Vec<Fact>,
    /// The receipt that proves the verdict.
    pub receipt: ReceiptReference,
    /// Where the time went, in milliseconds.
    pub latency_ms: Latency,
}

/// One fact of a [`Check`].
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct Fact {
    /// Digest that names the fact.
    pub fingerprint: String,
    /// The fact as a sentence.
    pub text: String,
    /// Its state.
    pub status: FactStatus,
    /// How much depends on it.
    pub materiality: Materiality,
    /// Whether the answer came from watched state, without research.
    pub served_from_state: bool,
    /// When it was last verified, RFC 3339.
    pub last_verified_at: Option<String>,
    /// What it rests on.
    pub sources: Vec<FactSource>,
}

/// A source of a [`Fact`].
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct FactSource {
    /// Where it is.
    pub locator: String,
    /// SHA-256 of the version read, lower-case hex.
    pub version_sha256: Option<String>,
    /// When it was read, RFC 3339.
    pub fetched_at: Option<String>,
}

/// The receipt of a [`Check`], by reference.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct ReceiptReference {
    /// Id to fetch the whole receipt with.
    pub id: String,
    /// Signature, unpadded base64url.
    pub signature: String,
    /// When it was signed, RFC 3339.
    pub signed_at: String,
}

/// Times of a [`Check`] in milliseconds.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct Latency {
    /// Finding the facts in the action.
    pub compile: f64,
    /// Looking up watched state.
    pub lookup: f64,
    /// Research.
    pub live: f64,
    /// All of it.
    pub total: f64,
}

/// A watched source.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct Source {
    /// Id of the source.
    pub id: String,
    /// Its kind.
    pub kind: SourceKind,
    /// Where it is, or whose it is.
    pub locator: String,
    /// Name given by the user.
    pub label: Option<String>,
    /// What it is watched for.
    pub intent: Option<String>,
    /// How it came to be watched.
    pub origin: String,
    /// The source that it was resolved or discovered from.
    pub parent_source_id: Option<String>,
    /// Scopes that it belongs to.
    pub scope_keys: Vec<String>,
    /// Whether it is polled.
    pub active: bool,
    /// Seconds between polls.
    pub poll_interval_s: Option<u64>,
    /// When it is polled next, RFC 3339.
    pub next_poll_at: Option<String>,
    /// When it was last read, RFC 3339.
    pub last_success_at: Option<String>,
    /// SHA-256 of its content, lower-case hex.
    pub content_sha256: Option<String>,
    /// When it was registered, RFC 3339.
    pub created_at: String,
}

/// Answer of GET /v1/sources/{id}, pause and resume.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct OneSource {
    /// The source.
    pub source: Source,
}

/// Answer of GET /v1/sources.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct Sources {
    /// The sources.
    pub sources: Vec<Source>,
}

/// Answer of POST /v1/sources.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct AddedSource {
    /// The source, new or found.
    pub source: Source,
    /// Whether it is new.
    pub created: bool,
    /// What an entity resolved to.
    #[serde(default)]
    pub resolved: Vec<Source>,
    /// Why resolving failed.
    pub resolution_error: Option<Value>,
    /// What was decided about each candidate of an entity.
    #[serde(default)]
    pub authority: Vec<Authority>,
    /// Why discovery failed; the registration stands.
    pub discovery_error: Option<Value>,
}

/// A decision about a candidate of an entity. An ambiguous one needs a person.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct Authority {
    /// The candidate.
    pub url: String,
    /// `accepted`, `discarded` or `ambiguous`.
    pub outcome: String,
    /// Why.
    pub reason: String,
}

/// Answer of DELETE /v1/sources/{id}.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[non_exhaustive]
pub struct RemovedSource {
    /// Whether it is gone.
    pub deleted: bool,
    /// Its id.
    pub id: String,
}

/// Answer of POST /v1/sources/{id}/recompile.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[non_exhaustive]
pub struct Recompiled {
    /// The source.
    pub source_id: String,
    /// The job that plans it.
    pub job_id: String,
    /// False where an open job took the request over.
    pub created: bool,
}

/// Answer of POST /v1/events.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// Whether it was taken.
    pub accepted: bool,
    /// Whether the content is new.
    pub changed: bool,
    /// The source it belongs to.
    pub source_id: String,
    /// The version made.
    pub version_id: Option<String>,
    /// SHA-256 of the content, lower-case hex.
    pub content_sha256: String,
    /// SHA-256 of the content before.
    pub previous_content_sha256: Option<String>,
    /// Facts that checks answer REVIEW for until they are judged anew.
    pub facts_pending_review: u64,
}

/// A webhook subscription. Only its id is certain.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct Subscription {
    /// Its id.
    pub subscription_id: String,
    /// Where deliveries go.
    pub callback_url: Option<String>,
    /// What is delivered.
    #[serde(default)]
    pub event_types: Vec<String>,
    /// Scopes that deliveries are limited to.
    #[serde(default)]
    pub external_scope_ids: Vec<String>,
    /// Whether it is on.
    pub enabled: Option<bool>,
    /// The secret that signs deliveries, by id.
    pub signing_key_id: Option<String>,
}

/// Answer of GET /v1/webhooks.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct Subscriptions {
    /// The subscriptions.
    pub subscriptions: Vec<Subscription>,
}

/// A page of GET /v1/webhooks/{id}/deliveries.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct Deliveries {
    /// Deliveries, newest first.
    pub items: Vec<Delivery>,
    /// Time to ask for the next page with, RFC 3339.
    pub next_before: Option<String>,
}

/// One delivery of a webhook.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct Delivery {
    /// Its id.
    pub delivery_id: String,
    /// The subscription.
    pub subscription_id: String,
    /// The event, which is also the id that a receiver deduplicates by.
    pub callback_event_id: String,
    /// `pending`, `delivering`, `succeeded`, `retry_scheduled`, `dead_letter` or `cancelled`.
    pub state: String,
    /// Number of attempts.
    pub attempt: u64,
    /// Status of the last attempt.
    pub response_status: Option<u16>,
    /// Code of the last failure.
    pub error_code: Option<String>,
    /// When it is tried next, RFC 3339.
    pub next_attempt_at: Option<String>,
    /// When it was made, RFC 3339.
    pub created_at: String,
    /// When it was delivered, RFC 3339.
    pub delivered_at: Option<String>,
    /// Whether it is a test.
    pub is_test: bool,
}

/// Answer of POST /v1/verify.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct Verification {
    /// The outcome.
    pub status: VerifyStatus,
    /// The receipt with the signed packet.
    pub receipt: Proof,
}

/// The receipt of a [`Verification`].
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[non_exhaustive]
pub struct Proof {
    /// Its id.
    pub proof_id: String,
    /// The verdict.
    pub decision: Decision,
    /// Why, as a sentence.
    pub reason: String,
    /// Path to share it under.
    pub share_endpoint: String,
    /// The signed document, opaque. Verify the text, not this value.
    pub packet: Value,
}

/// Answer of GET /health.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[non_exhaustive]
pub struct Health {
    /// Whether the API works.
    pub ok: bool,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view<T: for<'a> Deserialize<'a>>(text: &str) -> T {
        serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
    }

    #[test]
    fn a_check_with_unknown_words_and_members() {
        let check: Check = view(
            r#"{"decision":"ESCALATE","reason_codes":["NEW"],"facts":[{"fingerprint":"f","text":"t","status":"changed",
            "materiality":"huge","served_from_state":true,"last_verified_at":null,"sources":[{"locator":"l"}],"x":1}],
            "receipt":{"id":"i","signature":"s","signed_at":"a"},"latency_ms":{"compile":1,"lookup":2,"live":3.5,"total":6.5},"y":{}}"#,
        );
        assert_eq!(check.decision, Decision::Other("ESCALATE".to_owned()));
        assert_eq!(check.facts[0].status, FactStatus::Changed);
        assert_eq!(check.facts[0].materiality, Materiality::Other("huge".to_owned()));
        assert_eq!((check.facts[0].sources[0].fetched_at.as_ref(), check.latency_ms.live), (None, 3.5));
    }

    #[test]
    fn a_check_without_verdict_is_none() {
        assert!(serde_json::from_str::<Check>(r#"{"decision":null,"reason_codes":[],"facts":[]}"#).is_err());
        assert!(serde_json::from_str::<Decision>("true").is_err());
    }

    /// Every example of the reference that is a response body reads into its view.
    #[test]
    fn documented_examples_are_read() {
        let shared = std::env::var_os("KAVAL_SHARED").map_or_else(
            || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
            std::path::PathBuf::from,
        );
        let Ok(text) = std::fs::read_to_string(shared.join("spec/kaval-api.md")) else {
            println!("skipped: the API's reference is not beside this repository");
            return;
        };
        let mut read = 0;
        for block in text.split("```json\n").skip(1).filter_map(|b| b.split("```").next()) {
            let value: Value = view(block);
            let has = |name: &str| value.get(name).is_some();
            if has("latency_ms") {
                assert_eq!(view::<Check>(block).decision, Decision::Review);
            } else if has("resolved") {
                assert_eq!(view::<AddedSource>(block).authority.len(), 2);
            } else if has("deleted") {
                assert!(view::<RemovedSource>(block).deleted);
            } else if has("job_id") {
                assert!(view::<Recompiled>(block).created);
            } else if has("accepted") {
                assert_eq!(view::<Event>(block).facts_pending_review, 2);
            } else if has("items") {
                assert_eq!(view::<Deliveries>(block).items[0].attempt, 6);
            } else if has("status") && has("receipt") {
                assert_eq!(view::<Verification>(block).status, VerifyStatus::Valid);
            } else if has("version") {
                assert!(view::<Health>(block).ok);
            } else if has("subscription") {
                let inner = value["subscription"].to_string();
                assert_eq!(view::<Subscription>(&inner).enabled, Some(true));
            } else {
                continue;
            }
            read += 1;
        }
        assert_eq!(read, 9, "each view has its example");
    }
}
