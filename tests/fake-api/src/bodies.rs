//! The everyday answers, shaped as the API shapes them (HTTP API contract, sections 3 to 12).

use serde_json::{Value, json};

use crate::{Reply, Request};

const RECEIPT_ID: &str = "5b1f0c8e-7a42-4d19-8c36-2f9e0d7b4a13";
const SOURCE_ID: &str = "c40d9a6b-18f2-4e75-9b03-7d5e2c1f8a64";

/// Answers every route of the API as a healthy deployment would.
#[must_use]
pub fn default_reply(request: &Request) -> Reply {
    if request.header("authorization").is_none() {
        return Reply::error(401, "unauthorized", "no API key in the request");
    }
    let path = request.path();
    match (request.method.as_str(), path) {
        ("POST", "/v1/check") => Reply::new(200, check().to_string()),
        ("POST", "/v1/sources") => Reply::new(201, added().to_string()),
        ("GET", "/v1/sources") => Reply::new(200, json!({"sources": [source()]}).to_string()),
        ("POST", "/v1/report-outcome") => Reply::new(200, json!({"ok": true}).to_string()),
        ("POST", "/v1/verify") if request.header("idempotency-key").is_none() => {
            Reply::error(400, "idempotency_key_required", "the operation key is missing")
        }
        ("POST", "/v1/verify") => Reply::new(200, proof().to_string()),
        ("GET", _) if path.starts_with("/v1/receipts/") => {
            Reply::new(200, json!({"receipt": receipt()}).to_string())
        }
        ("DELETE", _) if path.starts_with("/v1/sources/") => {
            let id = path.rsplit('/').next().unwrap_or_default();
            Reply::new(200, json!({"deleted": true, "id": id}).to_string())
        }
        _ => Reply::error(404, "not_found", "no such route"),
    }
}

/// A check answer of about `bytes` bytes, for measuring.
#[must_use]
pub fn pad_check(bytes: usize) -> String {
    let mut body = check();
    let missing = bytes.saturating_sub(body.to_string().len());
    body["facts"][0]["text"] =
        Value::String("The travel policy pays within 45 days. ".repeat(missing / 39 + 1));
    body.to_string()
}

fn check() -> Value {
    json!({
        "decision": "REVIEW",
        "reason_codes": ["FACT_UNKNOWN"],
        "facts": [{
            "fingerprint": "fact:sha256:2c81e0b7f4a9d635",
            "text": "Contoso refunds bookings within 14 days",
            "status": "unknown",
            "materiality": "high",
            "served_from_state": true,
            "last_verified_at": "2026-10-04T08:30:00.000Z",
            "sources": [{
                "locator": "https://help.contoso.example/refunds",
                "version_sha256": "3d".repeat(32),
                "fetched_at": "2026-10-05T11:20:00.000Z"
            }]
        }],
        "receipt": {
            "id": RECEIPT_ID,
            "signature": "Q".repeat(86),
            "signed_at": "2026-10-05T11:21:00.000Z"
        },
        "latency_ms": {"compile": 120.5, "lookup": 4, "live": 0, "total": 131}
    })
}

fn receipt() -> Value {
    json!({
        "receipt_version": "check-receipt/1.0.0",
        "id": RECEIPT_ID,
        "tenant_id": "0a7d3e52-6c1b-4f98-b2e4-915c8d7f6031",
        "workspace_id": null,
        "decision": "REVIEW",
        "reason_codes": ["FACT_UNKNOWN"],
        "decision_rule_version": "check-decision/1.0.0",
        "mode": "standard",
        "checked_at": "2026-10-05T11:21:00.000Z",
        "compilation_uncertain": false,
        "facts": [],
        "proof_packet_ids": [],
        "signature": {
            "algorithm": "Ed25519",
            "key_id": "test-key",
            "signature": "Q".repeat(86),
            "signed_at": "2026-10-05T11:21:00.000Z"
        }
    })
}

fn source() -> Value {
    json!({
        "id": SOURCE_ID,
        "kind": "entity",
        "locator": "Contoso",
        "label": null,
        "intent": "refund terms",
        "origin": "registered",
        "parent_source_id": null,
        "scope_keys": ["region:eu"],
        "active": true,
        "poll_interval_s": 3600,
        "next_poll_at": null,
        "last_success_at": null,
        "content_sha256": null,
        "created_at": "2026-10-05T11:00:00.000Z"
    })
}

fn added() -> Value {
    json!({
        "source": source(),
        "created": true,
        "resolved": [],
        "authority": [{
            "url": "https://help.contoso.example/refunds",
            "outcome": "accepted",
            "reason": "the publisher's own pages"
        }]
    })
}

fn proof() -> Value {
    json!({
        "status": "valid",
        "receipt": {
            "proof_id": "proof_TEST0001",
            "decision": "ALLOW",
            "reason": "the cited page states it",
            "share_endpoint": "/v1/proofs/proof_TEST0001/share",
            "packet": {"proof_id": "proof_TEST0001"}
        }
    })
}
