//! Files made to mislead, or to cost more than their size.

use super::support::run;
use std::fs;

#[test]
fn a_long_inherited_form_is_not_repeated_for_every_key() {
    const KEYS: usize = 100;
    let key = |id: usize| {
        format!(
            r#"{{"contract_version":"1","key_id":"k{id}","algorithm":"Ed25519","use":"proof_verification","public_key":{{"format":"jwk","kty":"OKP","crv":"Ed25519","x":"{id:0>42}A"}}}}"#
        )
    };
    let keys: Vec<String> = (0..KEYS).map(key).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("keys.json");
    for form in ["c".repeat(500_000), r"\ud800".repeat(80_000)] {
        let text = format!(r#"{{"canonicalization":"{form}","keys":[{}]}}"#, keys.join(","));
        fs::write(&file, text).expect("a file");
        for format in ["json", "text"] {
            let run = run(&["keys", "inspect", file.to_str().expect("UTF-8"), "--format", format]);
            assert_eq!(run.code, 0);
            assert!(run.stdout.len() < KEYS * 4_096, "{} bytes", run.stdout.len());
        }
    }
}
