//! `fixtures/vectors`: frozen cases, one file a topic. Expected values are stated by hand or come from
//! [`oracle`](crate::oracle), never from the library under test.
//!
//! A case that changes a base document states `set` (pairs of JSON pointer and value) and `remove` (JSON
//! pointers), applied in that order.

mod decision;
mod documents;
mod instants;
mod keysets;
mod reader;
mod rule2;
mod verify;

use crate::files::Files;
use serde_json::{Map, Value, json};

pub(crate) fn add(files: &mut Files) {
    reader::add(files);
    instants::add(files);
    documents::add(files);
    keysets::add(files);
    decision::add(files);
    rule2::add(files);
    verify::add(files);
}

/// A case that changes a base document.
fn patched(id: &str, set: &[(&str, Value)], remove: &[&str], expected: Value) -> Value {
    let set: Vec<Value> = set.iter().map(|(pointer, value)| json!([pointer, value])).collect();
    let mut case = json!({"id": id, "set": set, "remove": remove});
    merge(&mut case, expected);
    case
}

/// The members of one object added to another.
fn merge(case: &mut Value, more: Value) {
    if let (Value::Object(case), Value::Object(more)) = (case, more) {
        case.extend(more);
    }
}

/// The expectation of a named fault.
fn code(code: &str) -> Value {
    json!({"code": code})
}

/// Adds a file of cases, one a line, after the members of `head`.
fn add_cases(files: &mut Files, name: &str, head: Value, cases: Vec<Value>) {
    let mut ids = std::collections::BTreeSet::new();
    for case in &cases {
        assert!(ids.insert(case["id"].to_string()), "{name}: the id {} is there twice", case["id"]);
    }
    let mut text = String::from("{\n");
    if let Value::Object(head) = sorted(head) {
        for (key, value) in head {
            text += &format!("{}: {value},\n", Value::from(key));
        }
    }
    let lines: Vec<String> = cases.into_iter().map(|case| sorted(case).to_string()).collect();
    text += &format!("\"cases\": [\n{}\n]\n}}\n", lines.join(",\n"));
    files.add(&format!("vectors/{name}.json"), text);
}

/// The same with members in the order of their names: which order objects keep is a feature of `serde_json`
/// that other packages of a build can turn on.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|left, right| left.0.cmp(&right.0));
            Value::Object(members.into_iter().map(|(key, value)| (key, sorted(value))).collect::<Map<_, _>>())
        }
        Value::Array(elements) => elements.into_iter().map(sorted).collect(),
        scalar => scalar,
    }
}
