//! Properties that hold for every input.

mod support;

use kaval_receipt::json::{self, Layout, Value};
use kaval_receipt::{Auditor, Gates, Keyset, Outcome, canonical, decision};
use proptest::prelude::*;
use support::{active, at, sign};

/// JSON text of any shape, in odd spellings: escapes, white space, number forms, keys in any order.
fn json_text() -> impl Strategy<Value = String> {
    let string = prop_oneof![
        "[a-zA-Z0-9 _/]{0,12}".prop_map(|text| format!("\"{text}\"")),
        any::<String>().prop_map(|text| serde_json::to_string(&text).expect("a string")),
        prop::collection::vec(any::<u16>(), 0..6).prop_map(|units| {
            format!("\"{}\"", units.iter().map(|unit| format!("\\u{unit:04X}")).collect::<String>())
        }),
    ];
    let number = prop_oneof![
        any::<i32>().prop_map(|number| number.to_string()),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(|number| number.to_string()),
        any::<f32>()
            .prop_filter("finite", |number| number.is_finite() && number.abs() < 1e9)
            .prop_map(|number| format!("{:?}", f64::from(number))),
        (any::<i16>(), -30..6).prop_map(|(mantissa, exponent)| format!("{mantissa}.50E{exponent}")),
    ];
    let scalar = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        string.clone(),
        number,
    ];
    scalar.prop_recursive(4, 40, 6, move |inner| {
        let members = prop::collection::btree_map("[a-f😀ﬁ]{0,3}", inner.clone(), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(|elements| format!("[ {} ]", elements.join(" ,\n"))),
            members.prop_shuffle_members(),
        ]
    })
}

trait ShuffleMembers {
    fn prop_shuffle_members(self) -> BoxedStrategy<String>;
}

impl<S> ShuffleMembers for S
where
    S: Strategy<Value = std::collections::BTreeMap<String, String>> + 'static,
{
    fn prop_shuffle_members(self) -> BoxedStrategy<String> {
        self.prop_map(|members| members.into_iter().collect::<Vec<_>>())
            .prop_shuffle()
            .prop_map(|members| {
                let member = |(key, value): &(String, String)| format!("\t\"{key}\" : {value}");
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            })
            .boxed()
    }
}

/// Canonical text by another way: keys sorted by their UTF-16 units, everything else spelled by `to_text`.
fn canonical_by_sorting(value: &Value<'_>) -> String {
    match value {
        Value::Array(elements) => {
            format!("[{}]", elements.iter().map(canonical_by_sorting).collect::<Vec<_>>().join(","))
        }
        Value::Object(object) => {
            let mut members: Vec<(Vec<u16>, String)> = object
                .iter()
                .map(|(key, value)| {
                    let text = json::to_text(&Value::String(key.clone()), Layout::Compact);
                    (units_of(&text), format!("{text}:{}", canonical_by_sorting(value)))
                })
                .collect();
            members.sort();
            format!("{{{}}}", members.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(","))
        }
        other => json::to_text(other, Layout::Compact),
    }
}

/// The UTF-16 units that a JSON string spelling stands for.
fn units_of(spelling: &str) -> Vec<u16> {
    let mut units = vec![];
    let mut chars = spelling.trim_matches('"').chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            units.extend(c.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        match chars.next() {
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                units.push(u16::from_str_radix(&digits, 16).expect("four digits"));
            }
            Some('b') => units.push(8),
            Some('t') => units.push(9),
            Some('n') => units.push(10),
            Some('f') => units.push(12),
            Some('r') => units.push(13),
            Some(other) => units.push(other as u16),
            None => panic!("a lone backslash"),
        }
    }
    units
}

proptest! {
    #[test]
    fn canonical_text_is_a_fixed_point(text in json_text()) {
        // Some spellings are refused, such as numbers that lose something; the rest must be stable.
        if let Ok(value) = json::parse(&text) {
            let once = canonical::canonical_json(&value).expect("strict JSON has a canonical form");
            let again = json::parse(&once).expect("canonical text is strict JSON");
            prop_assert_eq!(&canonical::canonical_json(&again).expect("canonical"), &once);
            prop_assert_eq!(canonical_by_sorting(&value), once);
        }
    }

    #[test]
    fn the_reader_agrees_with_another_on_what_is_json(text in json_text()) {
        let ours = json::parse(&text);
        match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(theirs) => if let Ok(ours) = ours {
                let printed = json::to_text(&ours, Layout::Compact);
                let back: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
                prop_assert!(same(&back, &theirs), "{} {}", back, theirs);
            },
            // The other reader refuses unpaired surrogates, which we keep.
            Err(_) => if let Ok(ours) = ours {
                let printed = json::to_text(&ours, Layout::Compact);
                prop_assert!(printed.contains("\\ud"), "{}", printed);
            },
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        let _ = json::parse(&text);
    }

    #[test]
    fn no_near_json_makes_the_reader_panic(text in "[\\[\\]{}:,\"\\\\u0-9eE+.\\- tfn]{0,60}") {
        if let Err(error) = json::parse(&text) {
            prop_assert!(error.offset <= text.encode_utf16().count());
        }
    }

    #[test]
    fn no_bytes_make_an_audit_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let keyset = active();
        let mut auditor = Auditor::new(&keyset, at("2026-08-01T00:00:00Z"), Gates::default());
        prop_assert_ne!(auditor.assess_bytes(&bytes).outcome, Outcome::Accepted);
    }

    #[test]
    fn a_receipt_survives_any_respelling(text in json_text()) {
        let Ok(payload) = json::parse(&text) else { return Ok(()) };
        let receipt = sign(&format!(r#"{{"b":{text},"a":1}}"#));
        let canonical = canonical::canonical_json(&payload).expect("canonical");
        let signature = receipt.split_once(r#""signature":{"#).expect("a signature").1;
        let respelled = format!("{{\"signature\":{{{},\n \"a\":1.0, \"b\":{canonical}}}", &signature[..signature.len() - 1]);
        let keyset = active();
        let mut auditor = Auditor::new(&keyset, at("2026-08-01T00:00:00Z"), Gates::default());
        prop_assert_eq!(auditor.assess_text(&receipt).outcome, Outcome::Accepted);
        prop_assert_eq!(auditor.assess_text(&respelled).outcome, Outcome::Accepted);
    }

    #[test]
    fn any_changed_signed_byte_is_refused(position in 0..10_000_usize, byte in any::<u8>()) {
        let receipt = sign(r#"{"id":"r","checked_at":"2026-08-01T00:00:00Z","n":[1.5,true,null],"text":"é\n\ud800"}"#);
        let mut bytes = receipt.clone().into_bytes();
        let position = position % bytes.len();
        prop_assume!(bytes[position] != byte);
        bytes[position] = byte;
        let changed = String::from_utf8_lossy(&bytes).into_owned();
        let meaning = |text: &str| json::parse(text).ok().and_then(|value| canonical::canonical_json(&value).ok());
        // A change of spelling only, such as the case of a hexadecimal digit, changes no signed byte.
        prop_assume!(meaning(&changed) != meaning(&receipt));
        let keyset = active();
        let mut auditor = Auditor::new(&keyset, at("2026-08-01T00:00:00Z"), Gates::default());
        prop_assert_ne!(auditor.assess_bytes(&bytes).outcome, Outcome::Accepted, "{}", changed);
    }

    #[test]
    fn equal_input_gives_an_equal_verdict(text in json_text(), uncertain in any::<bool>()) {
        let receipt = format!(
            r#"{{"decision_rule_version":"check-decision/1.1.0","compilation_uncertain":{uncertain},"facts":[],"x":{text}}}"#
        );
        if let Ok(value) = json::parse(&receipt) {
            let canonical = canonical::canonical_json(&value).expect("canonical");
            let again = json::parse(&canonical).expect("strict JSON");
            prop_assert_eq!(decision::derive(&value), decision::derive(&again));
            prop_assert_eq!(decision::report(&value), decision::report(&value.clone()));
        }
    }

    #[test]
    fn no_key_document_makes_the_lookup_panic(text in json_text()) {
        if let Ok(document) = json::parse(&text) {
            let keyset = Keyset::from_value(&document);
            prop_assert!(keyset.lookup(&json::JsonString::from("test-key")).is_err());
        }
    }
}

/// Equality of values, numbers compared as doubles.
fn same(left: &serde_json::Value, right: &serde_json::Value) -> bool {
    use serde_json::Value as Other;
    match (left, right) {
        (Other::Number(left), Other::Number(right)) => left.as_f64() == right.as_f64(),
        (Other::Array(left), Other::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Other::Object(left), Other::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}
