//! Webhook deliveries: no panic, and no delivery is authentic without the secret.
#![no_main]

use kaval_receipt::webhook::{Secret, Verifier};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str, &str, &[u8])| {
    let (id, timestamp, signature, body) = input;
    let secrets = vec![Secret::new("k", "c29tZSBzZWNyZXQgdGhhdCBub2JvZHkgZ3Vlc3Nlcw")];
    let verifier = Verifier::new(secrets, None).expect("a secret");
    let headers =
        [("webhook-id", id), ("webhook-timestamp", timestamp), ("webhook-key-id", "k"), ("webhook-signature", signature)];
    let rejected = verifier.verify(&headers, body, 0.0).expect_err("nobody can sign");
    assert!(rejected.message.len() < 2_000);
});
