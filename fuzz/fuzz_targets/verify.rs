//! The whole path: text to assessment. Nobody but the holder of the key gets a receipt accepted.
#![no_main]

use kaval_receipt::result::Texts;
use kaval_receipt::{Auditor, EvaluationTime, Gates, Keyset, Outcome, json};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static KEYSET: LazyLock<Keyset> = LazyLock::new(|| {
    let document = json::parse(
        r#"{"canonicalization":"kaval-stable-json-v1","keys":[{"contract_version":"1","key_id":"k",
        "algorithm":"Ed25519","use":"proof_verification","lifecycle":{"status":"active"},"public_key":{"format":"jwk",
        "kty":"OKP","crv":"Ed25519","x":"A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"}}]}"#,
    );
    Keyset::from_value(&document.expect("strict JSON"))
});

fuzz_target!(|bytes: &[u8]| {
    let at = EvaluationTime::parse("2026-08-01T00:00:00Z").expect("a valid instant");
    let mut auditor = Auditor::new(&KEYSET, at, Gates::default());
    let assessment = auditor.assess_bytes(bytes);
    assert_ne!(assessment.outcome, Outcome::Accepted);
    assert!(assessment.detail.is_some());
    if let Ok(result) = &assessment.result {
        for texts in [Texts::Reference, Texts::WithCodes] {
            let text = json::to_text(&result.to_value(texts), json::Layout::Compact);
            assert!(json::parse(&text).is_ok());
        }
    }
});
