use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn ok(text: &str) -> String {
    compact(text.as_bytes()).expect(text)
}

#[test]
fn white_space_goes_and_nothing_else() {
    assert_eq!(
        ok(
            " {\r\n\t\"a\" : [ 1.0 , -0 , 1e3 , 123456789012345678901234567890 ] , \"b c\" : \" \\u00e9 \" } "
        ),
        r#"{"a":[1.0,-0,1e3,123456789012345678901234567890],"b c":" \u00e9 "}"#
    );
    for same in [
        r#"{"a":{"b":[]},"c":{}}"#,
        "[]",
        "{}",
        "0",
        "-1.5E+7",
        "true",
        "false",
        "null",
        r#""\ud800""#,
        r#""\/é😀\u0000""#,
    ] {
        assert_eq!(ok(same), same);
    }
    assert_eq!(ok("\u{feff}[1]"), "[1]");
}

#[test]
fn the_last_of_equal_names_counts_at_the_first_place() {
    for (text, expected) in [
        (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
        (r#"{"a":1,"\u0061":{"x":1,"x":[2]}, "c":4}"#, r#"{"\u0061":{"x":[2]},"c":4}"#),
        (r#"{"😀":1,"\ud83d\ude00":2}"#, r#"{"\ud83d\ude00":2}"#),
        (r#"{"\ud800":1,"\uD800":2,"\udc00":3}"#, r#"{"\uD800":2,"\udc00":3}"#),
        (r#"[{"n":1, "n":2},{"n":3}]"#, r#"[{"n":2},{"n":3}]"#),
        (r#"{"o":{"a":1,"a":2},"z":{"a":1},"o":0}"#, r#"{"o":0,"z":{"a":1}}"#),
        (r#"{"":1,"":2}"#, r#"{"":2}"#),
    ] {
        assert_eq!(ok(text), expected, "{text}");
    }
}

#[test]
fn many_equal_names_stay_fast() {
    let mut text = String::from("{");
    for i in 0..200_000 {
        text.push_str(&format!("\"k{}\":{i},", i % 100_000));
    }
    text.push_str("\"end\":0}");
    let out = ok(&text);
    assert!(out.starts_with(r#"{"k0":100000,"k1":100001,"#) && out.ends_with(r#""k99999":199999,"end":0}"#));
}

#[test]
fn broken_texts_are_refused_with_the_offset() {
    for (text, offset) in [
        ("", 0),
        (" ", 1),
        ("{", 1),
        ("[1", 2),
        ("[1,]", 3),
        (r#"{"a"}"#, 4),
        (r#"{"a":1,}"#, 7),
        ("{a:1}", 1),
        ("01", 1),
        ("1.", 2),
        ("-", 1),
        ("1e", 2),
        (".5", 0),
        ("+1", 0),
        ("tru", 0),
        ("nul", 0),
        ("\"a", 2),
        ("\"\\x\"", 2),
        ("\"\\u12g4\"", 2),
        ("\"a\nb\"", 2),
        ("\"0123456789\u{1}\"", 11),
        ("[1] 2", 4),
        ("{} {}", 3),
        ("NaN", 0),
        ("'a'", 0),
        ("[1 2]", 3),
        ("\u{feff}\u{feff}1", 3),
        ("\u{a0}1", 0),
        ("// x", 0),
        ("<html>", 0),
    ] {
        assert_eq!(compact(text.as_bytes()), Err(BodyFault::NotJson { offset }), "{text:?}");
    }
    assert_eq!(compact(b"\"a\xff\""), Err(BodyFault::NotUtf8 { offset: 2 }));
}

#[test]
fn depth_is_bounded() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert_eq!(ok(&nested(MAX_DEPTH)), nested(MAX_DEPTH));
    for n in [MAX_DEPTH + 1, 1_000_000] {
        assert_eq!(compact(nested(n).as_bytes()), Err(BodyFault::TooDeep { limit: MAX_DEPTH }));
    }
    assert!(compact("{\"a\":".repeat(200).as_bytes()).is_err());
}

#[test]
fn members_are_found_at_the_top_only() {
    let text =
        ok(r#"{"x":{"sources":1},"a,\"":"}","r\u0065ceipt":{"id":"}{"},"sources":[1,{"a":2}],"last":-1.50}"#);
    assert_eq!(member(&text, "sources"), Some(r#"[1,{"a":2}]"#));
    assert_eq!(member(&text, "receipt"), Some(r#"{"id":"}{"}"#));
    assert_eq!(member(&text, "last"), Some("-1.50"));
    assert_eq!(member(&text, "a,\""), Some("\"}\""));
    assert_eq!(member(&text, "id"), None);
    for other in ["[]", "{}", "1", "", "{\"a", "{\"a\"", "{\"a\":", "\"{\""] {
        assert_eq!(member(other, "b"), None, "{other}");
    }
}

/// JSON values as texts with random white space, escapes and number spellings.
fn json_text() -> impl Strategy<Value = String> {
    let space = prop::sample::select(vec!["", "", "", " ", "\n\t"]);
    let string = prop_oneof![
        "[a-c]{0,2}",
        "[^\"\\\\\\x00-\\x1f]{0,12}",
        r#"(\\["\\/bfnrt]|\\u00[0-7][0-9a-fA-F]|é|x){0,6}"#
    ];
    let number = "-?(0|[1-9][0-9]{0,8})(\\.[0-9]{1,6})?([eE][+-]?[0-9]{1,2})?";
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        number.prop_map(|n| n),
        string.clone().prop_map(|s| format!("\"{s}\"")),
    ];
    let leaf = (space.clone(), leaf, space).prop_map(|(a, v, b)| format!("{a}{v}{b}"));
    leaf.prop_recursive(5, 60, 8, move |inner| {
        let pair = (string.clone(), inner.clone()).prop_map(|(k, v)| format!(" \"{k}\" :{v}"));
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(|v| format!("[{}]", v.join(","))),
            prop::collection::vec(pair, 0..20).prop_map(|v| format!(" {{{}}}", v.join(","))),
        ]
    })
}

proptest! {
    #[test]
    fn the_value_is_kept(text in json_text()) {
        let out = compact(text.as_bytes()).expect("generated JSON is valid");
        let (before, after): (Value, Value) = (serde_json::from_str(&text).expect("valid"), serde_json::from_str(&out).expect("valid"));
        prop_assert_eq!(before, after);
        prop_assert_eq!(compact(out.as_bytes()), Ok(out.clone()));
        prop_assert!(out.len() <= text.len());
    }

    #[test]
    fn agrees_with_another_reader_on_validity(text in r#"[\[\]{},:"\\0-9eE.+\- a-fntrul\n]{0,24}"#) {
        // The other reader refuses lone surrogate escapes and numbers out of range; neither can be made of these.
        let other = serde_json::from_str::<serde::de::IgnoredAny>(&text);
        prop_assert_eq!(compact(text.as_bytes()).is_ok(), other.is_ok(), "{:?} {:?}", text, other);
    }

    #[test]
    fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = compact(&bytes);
        let text = String::from_utf8_lossy(&bytes);
        let _ = member(&text, "a");
    }

    #[test]
    fn members_equal_those_of_another_reader(text in json_text(), name in "[a-c]{0,2}") {
        let out = compact(text.as_bytes()).expect("valid");
        let value: Value = serde_json::from_str(&out).expect("valid");
        let found = member(&out, &name).map(|v| serde_json::from_str::<Value>(v).expect("a value"));
        prop_assert_eq!(value.get(&name).cloned(), found);
    }
}
