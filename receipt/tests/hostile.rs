//! Documents made to cost more than their size.

use kaval_receipt::json::{self, Layout, Limits};
use kaval_receipt::{Keyset, canonical};

fn key(id: usize) -> String {
    // Any 32 bytes do: whether they name a point is asked only of the key that is used.
    let x = format!("{id:0>42}A");
    format!(
        r#"{{"contract_version":"1","key_id":"k{id}","algorithm":"Ed25519","use":"proof_verification",
            "public_key":{{"format":"jwk","kty":"OKP","crv":"Ed25519","x":"{x}"}}}}"#
    )
}

#[test]
fn an_inherited_canonical_form_is_held_once_whatever_the_number_of_keys() {
    let keys: Vec<String> = (0..100).map(key).collect();
    let text = format!(r#"{{"canonicalization":"{}","keys":[{}]}}"#, "c".repeat(100_000), keys.join(","));
    let keyset = Keyset::from_value(&json::parse(&text).expect("strict JSON"));
    assert_eq!((keyset.fault(), keyset.keys().len()), (None, 100));
    let forms: Vec<_> = keyset.keys().iter().filter_map(|key| key.canonicalization.as_ref()).collect();
    assert_eq!(forms.len(), 100);
    for form in forms.iter().skip(1) {
        assert_eq!(form.as_wtf8().as_ptr(), forms[0].as_wtf8().as_ptr());
    }
}

#[test]
fn the_deepest_nesting_fits_a_stack_of_two_mebibytes() {
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let depth = usize::from(Limits::MAX_DEPTH);
    let read = move || {
        let limits = Limits::new(u64::from(Limits::MAX_DEPTH), 10_000).expect("in range");
        for (open, inner, close) in [("[", "0", "]"), (r#"{"a":"#, "0", "}")] {
            let text = open.repeat(depth) + inner + &close.repeat(depth);
            let value = json::parse_with_limits(&text, limits).expect("as deep as allowed");
            assert_eq!(canonical::canonical_json(&value).as_deref(), Ok(text.as_str()));
            assert_eq!(json::to_text(&value, Layout::Compact), text);
            assert_eq!(value.clone(), value);
            let deeper = open.repeat(depth + 1) + inner + &close.repeat(depth + 1);
            let error = json::parse_with_limits(&deeper, limits).expect_err("one level too many");
            assert_eq!((error.code(), error.offset), ("json_depth_limit", open.len() * (depth + 1)));
        }
    };
    thread.spawn(read).expect("a thread").join().expect("no overflow");
}
