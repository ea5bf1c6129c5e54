//! The strict reader: no panic, offsets inside the text, canonical text a fixed point.
#![no_main]

use kaval_receipt::{canonical, json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| match json::parse(text) {
    Ok(value) => {
        let once = canonical::canonical_json(&value).expect("strict JSON has a canonical form");
        let again = json::parse(&once).expect("canonical text is strict JSON");
        assert_eq!(canonical::canonical_json(&again).as_ref(), Ok(&once));
        for layout in [json::Layout::Compact, json::Layout::Indented] {
            assert_eq!(json::parse(&json::to_text(&value, layout)).as_ref(), Ok(&value));
        }
    }
    Err(error) => assert!(error.offset <= text.encode_utf16().count()),
});
