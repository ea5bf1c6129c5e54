//! Strict JSON and canonical form.
//!
//! Source: receipt verification, sections 1 and 2.

use super::{add_cases, merge};
use crate::files::Files;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Texts that are read, and their canonical form.
const ACCEPTED: &[(&str, &str, &str)] = &[
    ("white-space", " \n\r\t[ 1 ,\n2\t]\r", "[1,2]"),
    ("empty-containers", r#"[{},[],""]"#, r#"[{},[],""]"#),
    ("literals", "[true,false,null]", "[true,false,null]"),
    ("raw-del-and-separators", "\"\u{7f}\u{2028}\u{2029}\"", "\"\u{7f}\u{2028}\u{2029}\""),
    ("every-short-escape", r#""\"\\\/\b\f\n\r\t\u0041""#, r#""\"\\/\b\f\n\r\tA""#),
    ("control-escapes", r#""\u0000\u001F\u000b""#, r#""\u0000\u001f\u000b""#),
    ("escaped-pair", r#""\ud83d\uDE00""#, r#""😀""#),
    ("lone-high", r#""\uD83DA""#, r#""\ud83dA""#),
    ("lone-low", r#""\udc00""#, r#""\udc00""#),
    ("reversed-pair", r#""\ude00\ud83d""#, r#""\ude00\ud83d""#),
    ("high-then-pair", r#""\ud83d\ud83d\ude00""#, r#""\ud83d😀""#),
    ("lone-surrogate-keys", r#"{"\udc00":2,"\ud800":1}"#, r#"{"\ud800":1,"\udc00":2}"#),
    ("prototype-key", r#"{"constructor":2,"__proto__":1}"#, r#"{"__proto__":1,"constructor":2}"#),
    ("same-key-at-two-levels", r#"{"a":{"a":1}}"#, r#"{"a":{"a":1}}"#),
    ("utf16-key-order", r#"{"ﬁ":2,"😀":1}"#, r#"{"😀":1,"ﬁ":2}"#),
    ("key-order", r#"{"a":1,"B":2,"9":3,"10":4,"":5}"#, r#"{"":5,"10":4,"9":3,"B":2,"a":1}"#),
    ("key-before-its-extension", r#"{"ab":1,"a":2}"#, r#"{"a":2,"ab":1}"#),
    ("array-order-stays", "[3,1,2]", "[3,1,2]"),
    ("no-normalisation", "[\"e\u{301}\",\"\u{e9}\"]", "[\"e\u{301}\",\"\u{e9}\"]"),
    ("slash-stays-raw", r#""\/""#, r#""/""#),
    ("number-1.0", "1.0", "1"),
    ("number-1e0", "1e0", "1"),
    ("number-100e-2", "100e-2", "1"),
    ("number-1.10", "1.10", "1.1"),
    ("number-minus-zero", "-0", "0"),
    ("number-minus-zero-point", "-0.0", "0"),
    ("number-0e10", "0e10", "0"),
    ("number-0e99", "0e99", "0"),
    ("number-1E+2", "1E+2", "100"),
    ("number-least", "5e-324", "5e-324"),
    ("number-greatest-integer", "9007199254740991", "9007199254740991"),
    ("number-least-integer", "-9007199254740991", "-9007199254740991"),
    ("number-half", "4503599627370495.5", "4503599627370495.5"),
    ("number-1e-6", "1e-6", "0.000001"),
    ("number-1e-7", "0.0000001", "1e-7"),
    ("number-1.5e-7", "0.00000015", "1.5e-7"),
    ("number-negative", "-123456.789", "-123456.789"),
];

/// Texts that are refused: the fault and its offset in UTF-16 code units.
const REFUSED: &[(&str, &str, &str, usize)] = &[
    ("empty", "", "json_value", 0),
    ("byte-order-mark", "\u{feff}1", "json_value", 0),
    ("no-break-space", "\u{a0}1", "json_value", 0),
    ("form-feed", "\u{c}1", "json_value", 0),
    ("letter", "x", "json_value", 0),
    ("trailing-value", "1 2", "json_trailing_input", 2),
    ("trailing-no-break-space", "1\u{a0}", "json_trailing_input", 1),
    ("trailing-after-astral", "\"😀\" x", "json_trailing_input", 5),
    ("literal-true", "tru", "json_literal", 0),
    ("literal-false", "[fals]", "json_literal", 1),
    ("literal-null", "nul", "json_literal", 0),
    ("literal-longer", "truex", "json_trailing_input", 4),
    ("literal-capital", "True", "json_value", 0),
    ("control-character", "\"a\u{1f}\"", "json_control_character", 2),
    ("control-after-astral", "\"😀\u{1}\"", "json_control_character", 3),
    ("newline-in-string", "\"\n\"", "json_control_character", 1),
    ("escape-x", r#""\x""#, "json_escape", 2),
    ("escape-capital-u", r#""\U0041""#, "json_escape", 2),
    ("escape-end", "\"\\", "json_escape", 2),
    ("unicode-escape-digit", r#""\u12G4""#, "json_unicode_escape", 2),
    ("unicode-escape-end", r#""ab\u12"#, "json_unicode_escape", 4),
    ("unterminated", "\"abc", "json_unterminated_string", 4),
    ("unterminated-astral", "\"😀", "json_unterminated_string", 3),
    ("unterminated-key", "{\"a", "json_unterminated_string", 3),
    ("array-no-comma", "[1 2]", "json_array_separator", 3),
    ("array-end", "[1", "json_array_separator", 2),
    ("array-brace", "[1}", "json_array_separator", 2),
    ("array-trailing-comma", "[1,]", "json_value", 3),
    ("array-leading-comma", "[,1]", "json_value", 1),
    ("array-open", "[", "json_value", 1),
    ("object-open", "{", "json_key", 1),
    ("object-unquoted-key", "{a:1}", "json_key", 1),
    ("object-number-key", "{1:1}", "json_key", 1),
    ("object-trailing-comma", r#"{"a":1,}"#, "json_key", 7),
    ("object-no-colon", r#"{"a" 1}"#, "json_colon", 5),
    ("object-end-after-key", r#"{"a""#, "json_colon", 4),
    ("object-no-value", r#"{"a":}"#, "json_value", 5),
    ("object-no-comma", r#"{"a":1 "b":2}"#, "json_object_separator", 7),
    ("object-end", r#"{"a":1"#, "json_object_separator", 6),
    ("duplicate", r#"{"a":1,"a":2}"#, "json_duplicate_key", 10),
    ("duplicate-escaped", r#"{"a":1,"\u0061":2}"#, "json_duplicate_key", 15),
    ("duplicate-before-value", r#"{"a":1,"a":x"#, "json_duplicate_key", 10),
    ("duplicate-lone-surrogate", r#"{"\ud800":1,"\uD800":2}"#, "json_duplicate_key", 20),
    ("duplicate-pair", r#"{"😀":1,"\ud83d\ude00":2}"#, "json_duplicate_key", 22),
    ("duplicate-prototype", r#"{"__proto__":1,"__proto__":2}"#, "json_duplicate_key", 26),
    ("number-leading-zero", "01", "json_trailing_input", 1),
    ("number-minus-leading-zero", "-01", "json_trailing_input", 2),
    ("number-point", "1.", "json_trailing_input", 1),
    ("number-exponent", "1e", "json_trailing_input", 1),
    ("number-exponent-sign", "1e+", "json_trailing_input", 1),
    ("number-point-in-array", "[1.]", "json_array_separator", 2),
    ("number-hexadecimal", "0x10", "json_trailing_input", 1),
    ("number-minus", "-", "json_number", 0),
    ("number-minus-in-array", "[-]", "json_number", 1),
    ("number-minus-infinity", "-Infinity", "json_number", 0),
    ("number-plus", "+1", "json_value", 0),
    ("number-leading-point", ".5", "json_value", 0),
    ("number-nan", "NaN", "json_value", 0),
    ("number-range", "1e400", "json_number_range", 5),
    ("number-minus-range", "-1e400", "json_number_range", 6),
    ("number-2-53", "9007199254740992", "json_unsafe_integer", 16),
    ("number-2-53-plus-1", "9007199254740993", "json_unsafe_integer", 16),
    ("number-minus-2-53", "-9007199254740992", "json_unsafe_integer", 17),
    ("number-2-53-exponent", "9.007199254740992e15", "json_unsafe_integer", 20),
    ("number-1e21", "1e21", "json_unsafe_integer", 4),
    ("number-greatest", "1.7976931348623157e308", "json_unsafe_integer", 22),
    ("number-lossy-tenth", "0.10000000000000001", "json_lossy_number", 19),
    ("number-lossy-one", "1.0000000000000001", "json_lossy_number", 18),
    ("number-lossy-underflow", "1e-400", "json_lossy_number", 6),
    ("number-lossy-subnormal", "4.94e-324", "json_lossy_number", 9),
    ("number-lossy-exact-double", "0.3000000000000000444", "json_lossy_number", 21),
    ("number-lossy-in-array", "[1e-400]", "json_lossy_number", 7),
];

/// A text spelled as pieces and how often each stands there.
fn repeated(id: &str, parts: &[(&str, usize)], expected: Value) -> Value {
    let mut case = json!({"id": id, "parts": parts});
    merge(&mut case, expected);
    case
}

fn refused(code: &str, offset: usize) -> Value {
    json!({"code": code, "offset": offset})
}

fn limited() -> Vec<Value> {
    let accepted = || json!({"accepted": true});
    let zero = || json!({"canonical": "0"});
    let mut cases = vec![
        repeated("depth-128-scalar", &[("[", 128), ("1", 1), ("]", 128)], accepted()),
        repeated("depth-129-empty", &[("[", 129), ("]", 129)], accepted()),
        repeated("depth-129-scalar", &[("[", 129), ("1", 1), ("]", 129)], refused("json_depth_limit", 129)),
        repeated("depth-130", &[("[", 130), ("]", 130)], refused("json_depth_limit", 129)),
        repeated("depth-128-objects", &[("{\"a\":", 128), ("1", 1), ("}", 128)], accepted()),
        repeated(
            "depth-130-objects",
            &[("{\"a\":", 130), ("1", 1), ("}", 130)],
            refused("json_depth_limit", 645),
        ),
        repeated("depth-bomb", &[("[", 100_000)], refused("json_depth_limit", 129)),
        repeated("nodes-1000000", &[("[", 1), ("0,", 999_998), ("0]", 1)], accepted()),
        repeated(
            "nodes-1000001",
            &[("[", 1), ("0,", 999_999), ("0]", 1)],
            refused("json_node_limit", 1_999_999),
        ),
        repeated("number-1000-characters", &[("0.", 1), ("0", 998)], zero()),
        repeated("number-1001-characters", &[("0.", 1), ("0", 999)], refused("json_number_length", 1_001)),
        repeated("number-length-before-range", &[("9", 1_001)], refused("json_number_length", 1_001)),
        repeated("number-1000-nines", &[("9", 1_000)], refused("json_number_range", 1_000)),
        repeated("exponent-of-zero", &[("0e", 1), ("9", 300)], zero()),
        repeated("exponent-huge", &[("1e", 1), ("9", 300)], refused("json_number_range", 302)),
        repeated("exponent-tiny", &[("1e-", 1), ("9", 300)], refused("json_lossy_number", 303)),
    ];
    let limits: [(&str, &str, u64, u64, Value); 6] = [
        ("limit-depth-1", "[[1]]", 1, 9, refused("json_depth_limit", 2)),
        ("limit-depth-before-nodes", "[[1]]", 1, 2, refused("json_depth_limit", 2)),
        ("limit-nodes-2", "[1,2]", 9, 2, refused("json_node_limit", 3)),
        ("limit-nodes-before-value", "[x", 9, 1, refused("json_node_limit", 1)),
        ("limit-keys-are-no-nodes", r#"{"a":1}"#, 1, 2, json!({"canonical": "{\"a\":1}"})),
        ("limit-greatest", "0", 1_024, 10_000_000, zero()),
    ];
    for (id, text, max_depth, max_nodes, expected) in limits {
        let mut case = json!({"id": id, "text": text, "max_depth": max_depth, "max_nodes": max_nodes});
        merge(&mut case, expected);
        cases.push(case);
    }
    let out_of_range =
        [("depth-0", 0, 1), ("depth-1025", 1_025, 1), ("nodes-0", 1, 0), ("nodes-10000001", 1, 10_000_001)];
    for (id, max_depth, max_nodes) in out_of_range {
        cases.push(json!({"id": format!("no-limit-{id}"), "max_depth": max_depth, "max_nodes": max_nodes, "limits_refused": true}));
    }
    cases
}

/// Receipts and the canonical form of what is signed.
const UNSIGNED: &[(&str, &str, &str)] = &[
    ("unsigned-object", r#"{"b":1,"signature":{"key_id":"k"},"a":2}"#, r#"{"a":2,"b":1}"#),
    ("unsigned-null", r#"{"signature":null,"a":2}"#, r#"{"a":2}"#),
    ("unsigned-scalar", r#"{"signature":7}"#, "{}"),
    ("unsigned-without", r#"{"a":2}"#, r#"{"a":2}"#),
    ("unsigned-nested-stays", r#"{"signature":1,"p":{"signature":2}}"#, r#"{"p":{"signature":2}}"#),
];

pub(crate) fn add(files: &mut Files) {
    let mut cases: Vec<Value> = Vec::new();
    for (id, text, canonical) in ACCEPTED {
        cases.push(json!({"id": id, "text": text, "canonical": canonical}));
    }
    for (id, text, code, offset) in REFUSED {
        cases.push(json!({"id": id, "text": text, "code": code, "offset": offset}));
    }
    cases.extend(limited());
    add_cases(files, "reader", json!({}), cases);

    let digest = |canonical: &str| {
        let digest = Sha256::digest(canonical.as_bytes());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        json!({"byte_length": canonical.len(), "sha256": format!("sha256:{hex}")})
    };
    let mut cases: Vec<Value> = Vec::new();
    for (list, unsigned) in [(ACCEPTED, false), (UNSIGNED, true)] {
        for (id, text, canonical) in list {
            let mut case = json!({"id": id, "text": text, "unsigned": unsigned, "canonical": canonical});
            merge(&mut case, digest(canonical));
            cases.push(case);
        }
    }
    for text in ["[]", "null", "\"a\"", "1"] {
        let id = format!("unsigned-not-object-{text}");
        cases.push(json!({"id": id, "text": text, "unsigned": true, "code": "receipt_not_object"}));
    }
    for (number, code) in [
        ("NaN", "canonical_not_finite"),
        ("inf", "canonical_not_finite"),
        ("-inf", "canonical_not_finite"),
        ("9007199254740992", "canonical_unsafe_integer"),
        ("-1e300", "canonical_unsafe_integer"),
    ] {
        cases.push(json!({"id": format!("value-{number}"), "number": number, "code": code}));
    }
    add_cases(files, "canonical", json!({}), cases);
}
