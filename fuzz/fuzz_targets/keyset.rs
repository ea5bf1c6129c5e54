//! Key documents: no panic, a key that is found has the id that was wanted and stands there once.
#![no_main]

use kaval_receipt::{Keyset, json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(document) = json::parse(text) else { return };
    let keyset = Keyset::from_value(&document);
    for wanted in keyset.keys() {
        if let Ok(key) = keyset.lookup(&wanted.key_id) {
            assert_eq!(key.key_id, wanted.key_id);
            assert_eq!(keyset.keys().iter().filter(|other| other.key_id == wanted.key_id).count(), 1);
            assert!(keyset.fault().is_none());
            let _ = (key.is_trusted(), key.trust_reason());
        }
    }
    let merged = Keyset::merge([keyset.clone(), keyset]);
    let _ = merged.fault().map(ToString::to_string);
});
