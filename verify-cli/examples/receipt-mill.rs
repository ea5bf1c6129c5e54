//! Makes signed receipts and measures the bare signature check, for `scripts/bench-audit` and the browser tests.
//!
//! ```sh
//! receipt-mill keyset                       # the key document, on stdout
//! receipt-mill receipts COUNT BYTES         # JSON Lines of receipts of about so many bytes each
//! receipt-mill mixed COUNT                  # the same, a few of them with each kind of fault
//! receipt-mill raw BYTES SECONDS            # strict verifications a second on one core
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, Signer as _, SigningKey};
use kaval_receipt::{canonical, json};
use std::error::Error;
use std::io::{self, BufWriter, Write as _};
use std::time::{Duration, Instant};

const KEY_ID: &str = "example-key-2026";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut out = BufWriter::new(io::stdout().lock());
    match arguments.as_slice() {
        ["keyset"] => writeln!(out, "{}", keyset())?,
        ["receipts", count, bytes] => {
            let bytes = bytes.parse()?;
            for number in 0..count.parse()? {
                writeln!(out, "{}", receipt(number, bytes))?;
            }
        }
        ["mixed", count] => {
            for number in 0..count.parse()? {
                writeln!(out, "{}", mixed(number))?;
            }
        }
        ["raw", bytes, seconds] => {
            let rate = raw_rate(bytes.parse()?, Duration::from_secs(seconds.parse()?))?;
            writeln!(out, "{rate:.0}")?;
        }
        _ => return Err("keyset | receipts COUNT BYTES | mixed COUNT | raw BYTES SECONDS".into()),
    }
    out.flush()?;
    Ok(())
}

/// The published example seed: the bytes 0 to 31.
fn signing_key() -> SigningKey {
    SigningKey::from_bytes(&core::array::from_fn(|index| u8::try_from(index).unwrap_or_default()))
}

fn keyset() -> String {
    let x = URL_SAFE_NO_PAD.encode(signing_key().verifying_key().to_bytes());
    format!(
        r#"{{"canonicalization":"kaval-stable-json-v1","keys":[{{"contract_version":"1","key_id":"{KEY_ID}","algorithm":"Ed25519","use":"proof_verification","public_key":{{"format":"jwk","kty":"OKP","crv":"Ed25519","x":"{x}"}},"lifecycle":{{"status":"active"}}}}]}}"#
    )
}

/// A receipt whose verdict follows from its facts, filled up to about that many bytes.
fn receipt(number: u64, bytes: usize) -> String {
    // What the members below and the signature take.
    let text = "lorem ipsum ".repeat(bytes.saturating_sub(1_120) / 12);
    sign(&format!(
        r#"{{"receipt_version":"check-receipt/1.0.0","id":"0f6a4b1e-6c0d-4c58-9a53-{number:012x}","tenant_id":"5d0c2f7a-8b1e-4f6d-b3c9-1a2e3f4a5b6c","workspace_id":null,"decision":"ALLOW","reason_codes":["ALL_FACTS_HOLD"],"decision_rule_version":"check-decision/1.1.0","mode":"standard","checked_at":"2026-08-01T09:30:00.000Z","compilation_uncertain":false,"facts":[{{"fingerprint":"fact:sha256:ab12cd34","text":"{text}","materiality":"medium","state":"holds","checked_at":"2026-08-01T09:30:00.000Z","method":"state","temporal_state":"current","stale_pending":false,"novel":false,"freshness_failure":null,"basis":[{{"source_locator":"https://policies.example.com/refunds","version_sha256":"4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c","version_sha256_of":"canonical_text","parser_name":"html-text","parser_version":"2.1.0","fetched_at":"2026-08-01T09:12:07.000Z"}}]}}],"proof_packet_ids":[]}}"#
    ))
}

fn mixed(number: u64) -> String {
    let good = receipt(number, 1_500);
    match number % 50 {
        7 => good.replace("lorem", "Lorem"),
        17 => good.replace(KEY_ID, "a-key-nobody-knows"),
        27 => good.chars().take(700).collect(),
        37 => sign(&format!(
            r#"{{"id":"<b>{number}</b> & \"quoted\" \u202e","decision":"ALLOW","reason_codes":["ALL_FACTS_HOLD"],"decision_rule_version":"check-decision/1.1.0","compilation_uncertain":true,"facts":[]}}"#
        )),
        _ => good,
    }
}

fn sign(unsigned: &str) -> String {
    let canonical =
        json::parse(unsigned).ok().and_then(|receipt| canonical::canonical_unsigned_receipt(&receipt).ok());
    let signature = signing_key().sign(canonical.unwrap_or_default().as_bytes()).to_bytes();
    let open = unsigned.strip_suffix('}').unwrap_or(unsigned);
    let signature = URL_SAFE_NO_PAD.encode(signature);
    format!(r#"{open},"signature":{{"algorithm":"Ed25519","key_id":"{KEY_ID}","signature":"{signature}"}}}}"#)
}

/// Strict verifications a second of one signature over a message of that length, with the key decoded once.
fn raw_rate(bytes: usize, duration: Duration) -> Result<f64, Box<dyn Error>> {
    let message = vec![b'm'; bytes];
    let signature: Signature = signing_key().sign(&message);
    let key = signing_key().verifying_key();
    let started = Instant::now();
    let mut count = 0_u32;
    while started.elapsed() < duration {
        for _ in 0..100 {
            key.verify_strict(std::hint::black_box(&message), &signature)?;
        }
        count += 100;
    }
    Ok(f64::from(count) / started.elapsed().as_secs_f64())
}
