//! Webhook deliveries: the order of checks, tolerance, several secrets and signatures.

use hmac::{Hmac, KeyInit as _, Mac as _};
use kaval_receipt::webhook::{Misuse, Rejection, Secret, Verifier};
use sha2::Sha256;

const NOW_MS: f64 = 1_785_247_391_000.0;
const BODY: &[u8] = br#"{"ok":true}"#;

fn encode(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

fn mac(secret: &[u8], id: &str, timestamp: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("any length");
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    encode(&mac.finalize().into_bytes())
}

fn verifier(tolerance: Option<f64>) -> Verifier {
    let secrets = vec![
        Secret::new("old", &encode(b"the old secret")),
        Secret::new("new", &encode(b"the new secret")),
        Secret::new("blank", ""),
    ];
    Verifier::new(secrets, tolerance).expect("secrets and a tolerance")
}

/// The reason a delivery with these headers is rejected for, or `None` when it is valid.
fn rejection(timestamp: &str, key_id: &str, signature: &str, now_ms: f64) -> Option<Rejection> {
    let headers = [
        ("Webhook-Id", "evt_1"),
        ("webhook-timestamp", timestamp),
        ("WEBHOOK-KEY-ID", key_id),
        ("webhook-signature", signature),
    ];
    verifier(Some(300.0)).verify(&headers, BODY, now_ms).err().map(|rejected| rejected.reason)
}

fn signed(timestamp: &str) -> String {
    format!("v1,{}", mac(b"the new secret", "evt_1", timestamp, BODY))
}

#[test]
fn each_check_has_its_reason() {
    let valid = signed("1785247391");
    let old = format!("v1,{}", mac(b"the old secret", "evt_1", "1785247391", BODY));
    let digits = |timestamp: &str| rejection(timestamp, "new", &valid, NOW_MS);
    assert_eq!(rejection("1785247391", "new", &valid, NOW_MS), None);
    assert_eq!(rejection("1785247391", "old", &old, NOW_MS), None);
    for timestamp in ["178524739", "17852473910000", "178524739x", "１785247391", "+785247391", "1785247391 "]
    {
        assert_eq!(digits(timestamp), Some(Rejection::MalformedTimestamp), "{timestamp}");
    }
    for key_id in ["other", "NEW", "blank", "new "] {
        assert_eq!(
            rejection("1785247391", key_id, &valid, NOW_MS),
            Some(Rejection::UnknownKeyId),
            "{key_id}"
        );
    }
    for signature in ["v2,AAAA", "v2,AAAA v1,short", "v2,AAAA junk"] {
        let expected = Some(Rejection::UnsupportedSignatureVersion);
        assert_eq!(rejection("1785247391", "new", signature, NOW_MS), expected, "{signature}");
    }
    for signature in ["v1,", "v1", "v1,AAAA", "v1,a,b", "  ", &valid[3..]] {
        let expected = Some(Rejection::MalformedSignature);
        assert_eq!(rejection("1785247391", "new", signature, NOW_MS), expected, "{signature}");
    }
    assert_eq!(rejection("1785247391", "new", &old, NOW_MS), Some(Rejection::SignatureMismatch));
    assert_eq!(rejection("1785247392", "new", &valid, NOW_MS), Some(Rejection::SignatureMismatch));
}

#[test]
fn one_valid_signature_among_several_is_enough() {
    let valid = signed("1785247391");
    let zero = encode(&[0; 32]);
    for signature in [
        format!("v2,x {valid}"),
        format!("v1,{zero}\t{valid}"),
        format!("{valid} v1,{zero}"),
        format!("{valid}="),
    ] {
        assert_eq!(rejection("1785247391", "new", &signature, NOW_MS), None, "{signature}");
    }
    let joined = format!("v1,{zero},{valid}");
    assert_eq!(rejection("1785247391", "new", &joined, NOW_MS), Some(Rejection::MalformedSignature));
}

#[test]
fn the_window_is_inclusive_and_checked_last() {
    let late = Some(Rejection::TimestampOutOfTolerance);
    let valid = signed("1785247391");
    for (offset_ms, expected) in
        [(300_000.0, None), (300_000.5, late), (-300_000.0, None), (-300_000.5, late), (f64::NAN, late)]
    {
        assert_eq!(rejection("1785247391", "new", &valid, NOW_MS + offset_ms), expected, "{offset_ms}");
    }
    let forged = signed("1785247390");
    assert_eq!(rejection("1785247391", "new", &forged, 0.0), Some(Rejection::SignatureMismatch));
    // 12 and 13 digits are milliseconds, 10 and 11 seconds.
    for (timestamp, now_ms) in [
        ("1785247391000", NOW_MS),
        ("178524739100", 178_524_739_100.0),
        ("17852473910", 17_852_473_910_000.0),
    ] {
        assert_eq!(rejection(timestamp, "new", &signed(timestamp), now_ms), None, "{timestamp}");
    }
    let headers = [
        ("webhook-id", "evt_1"),
        ("webhook-timestamp", "1785247391"),
        ("webhook-key-id", "new"),
        ("webhook-signature", valid.as_str()),
    ];
    let delivery = verifier(None).verify(&headers, BODY, 0.0).expect("any time is accepted");
    assert_eq!((delivery.webhook_id.as_str(), delivery.key_id.as_str()), ("evt_1", "new"));
}

#[test]
fn each_header_must_be_there_once() {
    let valid = signed("1785247391");
    let all = [
        ("webhook-id", "evt_1"),
        ("webhook-timestamp", "1785247391"),
        ("webhook-key-id", "new"),
        ("webhook-signature", valid.as_str()),
    ];
    for index in 0..all.len() {
        let name = all[index].0;
        let without: Vec<_> = all.iter().copied().filter(|(other, _)| *other != name).collect();
        let twice: Vec<_> = all.iter().copied().chain([all[index]]).collect();
        let empty: Vec<_> =
            all.iter().map(|&(other, value)| (other, if other == name { "" } else { value })).collect();
        for headers in [without, twice, empty] {
            let rejected = verifier(Some(1.0)).verify(&headers, BODY, NOW_MS).expect_err("a header is wrong");
            assert_eq!(rejected.reason, Rejection::MissingHeader);
            assert!(rejected.message.contains(name), "{}", rejected.message);
        }
    }
}

#[test]
fn misuse_is_not_a_rejection() {
    let secret = || vec![Secret::new("new", "c2VjcmV0")];
    assert_eq!(Verifier::new(vec![], Some(1.0)).err(), Some(Misuse::NoSecrets));
    for tolerance in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Verifier::new(secret(), Some(tolerance)).err(), Some(Misuse::Tolerance));
    }
    assert!(Verifier::new(secret(), Some(0.0)).is_ok());
}

#[test]
fn secrets_are_not_shown_and_header_text_is_cut_and_escaped() {
    let shown = format!("{:?}", verifier(None));
    assert!(shown.contains("new") && !shown.contains("116") && !shown.contains("secret\""), "{shown}");
    let hostile = format!("\u{1b}[31m{}", "x".repeat(5_000));
    let headers = [
        ("webhook-id", "evt_1"),
        ("webhook-timestamp", hostile.as_str()),
        ("webhook-key-id", "new"),
        ("webhook-signature", "v1,x"),
    ];
    let message = verifier(None).verify(&headers, BODY, NOW_MS).expect_err("not digits").message;
    assert!(!message.contains('\u{1b}') && message.len() < 300, "{message}");
}

#[test]
fn a_secret_with_white_space_around_it_still_works() {
    let secret = format!(" {}=\n", encode(b"the new secret"));
    let verifier = Verifier::new(vec![Secret::new("new", &secret)], None).expect("a secret");
    let signature = signed("1785247391");
    let headers = [
        ("webhook-id", "evt_1"),
        ("webhook-timestamp", "1785247391"),
        ("webhook-key-id", "new"),
        ("webhook-signature", signature.as_str()),
    ];
    assert!(verifier.verify(&headers, BODY, 0.0).is_ok());
}
