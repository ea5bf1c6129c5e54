//! Rule 2.0.0: the form of its fields, the candidate, the gate and the final decision.
//!
//! Source: receipt verification, section 10.5.

use super::{add_cases, code, patched};
use crate::files::Files;
use crate::receipts;
use serde_json::{Value, json};

const CLASS: &str = "/action_classification";
const POLICY: &str = "/policy_binding";
const CALIBRATION: &str = "/calibration_binding";
const GATE: &str = "/gate";

fn set(id: &str, pointer: &str, value: Value, expected: &str) -> Value {
    patched(id, &[(pointer, value)], &[], code(expected))
}

fn remove(id: &str, pointer: &str, expected: &str) -> Value {
    patched(id, &[], &[pointer], code(expected))
}

pub(crate) fn add(files: &mut Files) {
    let base: Value = serde_json::from_str(&receipts::gate_passed()).expect("a generated receipt");
    let mut cases = fields();
    cases.extend(classification());
    cases.extend(policy());
    cases.extend(calibration());
    cases.extend(gate_form());
    cases.extend(derivations());
    add_cases(files, "rule2", json!({"base": base}), cases);
}

fn fields() -> Vec<Value> {
    vec![
        set("a2-other", "/receipt_version", json!("check-receipt/1.0.0"), "receipt_version_mismatch"),
        remove("a2-missing", "/receipt_version", "receipt_version_mismatch"),
        patched(
            "a2-before-4",
            &[("/receipt_version", json!(2)), ("/candidate_decision", json!(1))],
            &[],
            code("receipt_version_mismatch"),
        ),
        set("a4-unknown", "/candidate_decision", json!("allow"), "candidate_decision_unknown"),
        remove("a4-missing", "/candidate_decision", "candidate_decision_unknown"),
        set("a5-unknown", "/decision", json!("MAYBE"), "decision_unknown"),
        remove("a5-missing", "/decision", "decision_unknown"),
        set("a6-day", "/checked_at", json!("2026-02-30T00:00:00Z"), "checked_at_invalid"),
        remove("a6-missing", "/checked_at", "checked_at_invalid"),
        remove("a7-missing", "/reason_codes", "reason_codes_unknown"),
        set("a7-text", "/reason_codes", json!("ALL_FACTS_HOLD"), "reason_codes_unknown"),
        set("a7-number", "/reason_codes", json!([1]), "reason_codes_unknown"),
        set("a7-unpublished", "/reason_codes", json!(["ALL_FACTS_HELD"]), "reason_codes_unknown"),
        set(
            "a8-duplicate",
            "/reason_codes",
            json!(["ALL_FACTS_HOLD", "ALL_FACTS_HOLD"]),
            "reason_code_duplicate",
        ),
        set(
            "a7-before-8",
            "/reason_codes",
            json!(["FACT_CHANGED", "FACT_CHANGED", "x"]),
            "reason_codes_unknown",
        ),
        patched(
            "a8-before-9",
            &[("/reason_codes", json!(["FACT_CHANGED", "FACT_CHANGED"])), (CLASS, json!(1))],
            &[],
            code("reason_code_duplicate"),
        ),
        patched(
            "a-before-facts",
            &[(GATE, json!(1)), ("/facts", json!(1))],
            &[],
            code("gate_input_not_object"),
        ),
        set("facts-after-a", "/facts", json!(1), "facts_missing"),
        set("facts-uncertain", "/compilation_uncertain", json!(null), "compilation_uncertain_missing"),
        set("facts-fact", "/facts/0/state", json!("x"), "fact_state_unknown"),
    ]
}

fn classification() -> Vec<Value> {
    let at = |member: &str| format!("{CLASS}/{member}");
    let class = at("action_class");
    vec![
        remove("a9-1-missing", CLASS, "gate_input_not_object"),
        set("a9-1-null", CLASS, json!(null), "gate_input_not_object"),
        remove("a9-2-missing", &at("classifier_version"), "gate_input_field_set"),
        set("a9-2-more", &at("confidence"), json!(1), "gate_input_field_set"),
        patched("a9-2-renamed", &[(&at("class"), json!("x"))], &[&class], code("gate_input_field_set")),
        set("a9-3-status", &at("status"), json!("unknown"), "gate_input_term_unknown"),
        set("a9-4-classified-null", &class, json!(null), "gate_input_class_mismatch"),
        set("a9-4-classified-empty", &class, json!(""), "gate_input_class_mismatch"),
        set("a9-4-classified-257", &class, json!("c".repeat(257)), "gate_input_class_mismatch"),
        set(
            "a9-4-unclassified-with-class",
            &at("status"),
            json!("unclassified"),
            "gate_input_class_mismatch",
        ),
        set("a9-5-empty", &at("classifier_version"), json!(""), "gate_input_text_invalid"),
        set("a9-5-129", &at("classifier_version"), json!("v".repeat(129)), "gate_input_text_invalid"),
        patched(
            "a9-before-10",
            &[(CLASS, json!([])), (&format!("{POLICY}/id"), json!(1))],
            &[],
            code("gate_input_not_object"),
        ),
    ]
}

/// The members that both bindings have under the same rules.
fn binding(row: &str, binding: &str, from: &str, until: &str, size: &str, bound: &str) -> Vec<Value> {
    let at = |member: &str| format!("{binding}/{member}");
    let id = |what: &str| format!("{row}-{what}");
    let text = "gate_input_text_invalid";
    let integer = "gate_input_integer_invalid";
    vec![
        remove(&id("1-missing"), binding, "gate_input_not_object"),
        set(&id("1-array"), binding, json!([]), "gate_input_not_object"),
        remove(&id("2-missing"), &at("id"), "gate_input_field_set"),
        set(&id("2-more"), &at("1"), json!(1), "gate_input_field_set"),
        set(&id("from-invalid"), &at(from), json!("2026-07-01"), "gate_input_instant_invalid"),
        set(&id("from-null"), &at(from), json!(null), "gate_input_instant_invalid"),
        set(&id("until-invalid"), &at(until), json!(1), "gate_input_instant_invalid"),
        set(
            &id("interval-empty"),
            &at(until),
            json!(if from == "valid_from" { "2026-07-01T00:00:00Z" } else { "2026-07-20T00:00:00Z" }),
            "gate_input_interval_invalid",
        ),
        set(
            &id("interval-reversed"),
            &at(until),
            json!("2026-01-01T00:00:00Z"),
            "gate_input_interval_invalid",
        ),
        set(&id("demo-only"), &at("demo_only"), json!("false"), "gate_input_boolean_invalid"),
        set(&id("id-empty"), &at("id"), json!(""), text),
        set(&id("id-257"), &at("id"), json!("i".repeat(257)), text),
        set(&id("class-number"), &at("action_class"), json!(1), text),
        set(&id("class-257"), &at("action_class"), json!("c".repeat(257)), text),
        set(&id("size-negative"), &at(size), json!(-1), integer),
        set(&id("size-fraction"), &at(size), json!(0.5), integer),
        set(&id("size-text"), &at(size), json!("500"), integer),
        set(&id("bound-negative"), &at(bound), json!(-1), integer),
        set(&id("bound-10001"), &at(bound), json!(10_001), integer),
        set(&id("bound-null"), &at(bound), json!(null), integer),
        patched(
            &id("interval-before-texts"),
            &[(&at(until), json!("2026-01-01T00:00:00Z")), (&at("id"), json!(""))],
            &[],
            code("gate_input_interval_invalid"),
        ),
        patched(
            &id("texts-before-integers"),
            &[(&at("action_class"), json!("")), (&at(size), json!(-1))],
            &[],
            code(text),
        ),
    ]
}

fn policy() -> Vec<Value> {
    let at = |member: &str| format!("{POLICY}/{member}");
    let mut cases = binding(
        "a10",
        POLICY,
        "valid_from",
        "valid_until",
        "minimum_sample_size",
        "maximum_false_allow_upper_bound_bps",
    );
    cases.extend([
        set("a10-version-129", &at("version"), json!("v".repeat(129)), "gate_input_text_invalid"),
        // Here the flag comes after the times, in a calibration before them.
        patched(
            "a10-times-before-flag",
            &[(&at("valid_from"), json!(1)), (&at("demo_only"), json!(1))],
            &[],
            code("gate_input_instant_invalid"),
        ),
        patched(
            "a10-interval-before-flag",
            &[(&at("valid_until"), json!("2026-01-01T00:00:00Z")), (&at("demo_only"), json!(1))],
            &[],
            code("gate_input_interval_invalid"),
        ),
        patched(
            "a10-before-11",
            &[(&at("demo_only"), json!(1)), (CALIBRATION, json!(1))],
            &[],
            code("gate_input_boolean_invalid"),
        ),
    ]);
    cases
}

fn calibration() -> Vec<Value> {
    let at = |member: &str| format!("{CALIBRATION}/{member}");
    let mut cases = binding(
        "a11",
        CALIBRATION,
        "evaluated_at",
        "expires_at",
        "sample_size",
        "false_allow_upper_bound_bps",
    );
    cases.extend([
        set("a11-policy-id-257", &at("policy_id"), json!("p".repeat(257)), "gate_input_text_invalid"),
        set(
            "a11-policy-version-129",
            &at("policy_version"),
            json!("v".repeat(129)),
            "gate_input_text_invalid",
        ),
        set("a11-expires-null", &at("expires_at"), json!(null), "gate_input_instant_invalid"),
        patched(
            "a11-flag-before-times",
            &[(&at("evaluated_at"), json!(1)), (&at("demo_only"), json!(1))],
            &[],
            code("gate_input_boolean_invalid"),
        ),
        patched(
            "a11-before-12",
            &[(&at("demo_only"), json!(1)), (GATE, json!(1))],
            &[],
            code("gate_input_boolean_invalid"),
        ),
    ]);
    cases
}

fn gate_form() -> Vec<Value> {
    let at = |member: &str| format!("{GATE}/{member}");
    let term = "gate_input_term_unknown";
    vec![
        remove("a12-1-missing", GATE, "gate_input_not_object"),
        set("a12-1-null", GATE, json!(null), "gate_input_not_object"),
        remove("a12-2-missing", &at("mode"), "gate_input_field_set"),
        set("a12-2-more", &at("note"), json!(null), "gate_input_field_set"),
        set("a12-3-mode", &at("mode"), json!("test"), term),
        set("a12-3-evaluation", &at("evaluation_status"), json!("degraded"), term),
        set("a12-3-status", &at("status"), json!("failed"), term),
        set("a12-4-text", &at("reason_codes"), json!("x"), "gate_input_reason_codes_unknown"),
        set(
            "a12-4-fact-code",
            &at("reason_codes"),
            json!(["FACT_CHANGED"]),
            "gate_input_reason_codes_unknown",
        ),
        set(
            "a12-4-duplicate",
            &at("reason_codes"),
            json!(["ALLOW_POLICY_UNBOUND", "ALLOW_POLICY_UNBOUND"]),
            "gate_input_reason_code_duplicate",
        ),
        patched(
            "a12-3-before-4",
            &[(&at("status"), json!(1)), (&at("reason_codes"), json!(1))],
            &[],
            code(term),
        ),
    ]
}

/// A case whose receipt states what the gate row leads to.
fn downgraded(id: &str, changes: &[(&str, Value)], codes: &[&str]) -> Value {
    let mut set = changes.to_vec();
    set.extend([
        ("/gate/status", json!("downgraded")),
        ("/gate/reason_codes", json!(codes)),
        ("/decision", json!("REVIEW")),
        ("/reason_codes", json!(codes)),
    ]);
    patched(id, &set, &[], derived("REVIEW", codes, "ALLOW", "downgraded", codes))
}

fn derived(verdict: &str, codes: &[&str], candidate: &str, status: &str, gate_codes: &[&str]) -> Value {
    json!({"code": null, "verdict": verdict, "reason_codes": codes, "candidate": candidate, "gate_status": status, "gate_codes": gate_codes})
}

fn passed(id: &str, changes: &[(&str, Value)]) -> Value {
    patched(id, changes, &[], derived("ALLOW", &["ALL_FACTS_HOLD"], "ALLOW", "passed", &[]))
}

fn derivations() -> Vec<Value> {
    let unavailable = ("/gate/evaluation_status", json!("unavailable"));
    let unclassified = || {
        [
            ("/action_classification/status", json!("unclassified")),
            ("/action_classification/action_class", json!(null)),
        ]
    };
    let policy_unbound =
        |id: &str, changes: &[(&str, Value)]| downgraded(id, changes, &["ALLOW_POLICY_UNBOUND"]);
    let unbound =
        |id: &str, changes: &[(&str, Value)]| downgraded(id, changes, &["ALLOW_CALIBRATION_UNBOUND"]);
    let insufficient =
        |id: &str, changes: &[(&str, Value)]| downgraded(id, changes, &["ALLOW_CALIBRATION_INSUFFICIENT"]);
    let expired =
        |id: &str, changes: &[(&str, Value)]| downgraded(id, changes, &["ALLOW_CALIBRATION_EXPIRED"]);
    let checked = receipts::CHECKED_AT;
    let changed = ("/facts/0/state", json!("changed"));
    let not_applicable = [
        changed.clone(),
        ("/candidate_decision", json!("BLOCK")),
        ("/decision", json!("BLOCK")),
        ("/reason_codes", json!(["FACT_CHANGED"])),
        ("/gate/status", json!("not_applicable")),
    ];
    let blocked = || derived("BLOCK", &["FACT_CHANGED"], "BLOCK", "not_applicable", &[]);
    let mut not_applicable_unavailable = not_applicable.to_vec();
    not_applicable_unavailable.extend([
        unavailable.clone(),
        (POLICY, json!(null)),
        (CALIBRATION, json!(null)),
    ]);
    let mut without_class = unclassified().to_vec();
    without_class.push(unavailable.clone());
    let mut unclassified_unbound = unclassified().to_vec();
    unclassified_unbound.push((POLICY, json!(null)));
    vec![
        set("b-other-candidate", "/candidate_decision", json!("REVIEW"), "candidate_mismatch"),
        patched("b-facts-decide", &[changed], &[], code("candidate_mismatch")),
        patched(
            "b-before-c",
            &[("/candidate_decision", json!("BLOCK")), ("/gate/status", json!("downgraded"))],
            &[],
            code("candidate_mismatch"),
        ),
        patched("c1", &not_applicable, &[], blocked()),
        patched("c1-before-2", &not_applicable_unavailable, &[], blocked()),
        downgraded("c2", std::slice::from_ref(&unavailable), &["ALLOW_GATE_UNAVAILABLE"]),
        downgraded("c2-before-3", &without_class, &["ALLOW_GATE_UNAVAILABLE"]),
        downgraded("c3", &unclassified(), &["ALLOW_ACTION_UNCLASSIFIED"]),
        downgraded("c3-before-4", &unclassified_unbound, &["ALLOW_ACTION_UNCLASSIFIED"]),
        policy_unbound("c4-null", &[(POLICY, json!(null))]),
        policy_unbound("c4-class", &[("/policy_binding/action_class", json!("refund"))]),
        policy_unbound("c4-demo-policy", &[("/policy_binding/demo_only", json!(true))]),
        policy_unbound("c4-demo-mode", &[("/gate/mode", json!("demo"))]),
        policy_unbound(
            "c4-not-yet",
            &[("/policy_binding/valid_from", json!("2026-08-01T09:30:00.000000001Z"))],
        ),
        policy_unbound("c4-until-is-checked", &[("/policy_binding/valid_until", json!(checked))]),
        policy_unbound("c4-before-5", &[(POLICY, json!(null)), (CALIBRATION, json!(null))]),
        unbound("c5-null", &[(CALIBRATION, json!(null))]),
        unbound("c5-class", &[("/calibration_binding/action_class", json!("refund"))]),
        unbound("c5-policy-id", &[("/calibration_binding/policy_id", json!("pol-other"))]),
        unbound("c5-policy-version", &[("/calibration_binding/policy_version", json!("8"))]),
        unbound("c5-demo", &[("/calibration_binding/demo_only", json!(true))]),
        unbound(
            "c5-not-yet",
            &[("/calibration_binding/evaluated_at", json!("2026-08-01T09:30:00.000000001Z"))],
        ),
        unbound(
            "c5-before-6",
            &[
                ("/calibration_binding/policy_version", json!("8")),
                ("/calibration_binding/sample_size", json!(0)),
            ],
        ),
        insufficient("c6-sample", &[("/calibration_binding/sample_size", json!(499))]),
        insufficient("c6-bound", &[("/calibration_binding/false_allow_upper_bound_bps", json!(26))]),
        insufficient(
            "c6-sample-and-bound",
            &[
                ("/calibration_binding/sample_size", json!(0)),
                ("/calibration_binding/false_allow_upper_bound_bps", json!(10_000)),
            ],
        ),
        expired("c6-expires-is-checked", &[("/calibration_binding/expires_at", json!(checked))]),
        expired(
            "c6-expires-in-other-zone",
            &[("/calibration_binding/expires_at", json!("2026-08-01T11:30:00+02:00"))],
        ),
        downgraded(
            "c6-both",
            &[
                ("/calibration_binding/sample_size", json!(1)),
                ("/calibration_binding/expires_at", json!(checked)),
            ],
            &["ALLOW_CALIBRATION_INSUFFICIENT", "ALLOW_CALIBRATION_EXPIRED"],
        ),
        passed("c7", &[]),
        passed("c7-sample-is-minimum", &[("/calibration_binding/sample_size", json!(500))]),
        passed("c7-bound-is-maximum", &[("/calibration_binding/false_allow_upper_bound_bps", json!(25))]),
        passed("c7-valid-from-is-checked", &[("/policy_binding/valid_from", json!(checked))]),
        passed("c7-no-end", &[("/policy_binding/valid_until", json!(null))]),
        passed("c7-evaluated-is-checked", &[("/calibration_binding/evaluated_at", json!(checked))]),
        passed(
            "c7-demo",
            &[
                ("/gate/mode", json!("demo")),
                ("/policy_binding/demo_only", json!(true)),
                ("/calibration_binding/demo_only", json!(true)),
            ],
        ),
        passed(
            "c7-greatest-numbers",
            &[
                ("/policy_binding/minimum_sample_size", json!(9_007_199_254_740_991_u64)),
                ("/calibration_binding/sample_size", json!(9_007_199_254_740_991_u64)),
                ("/policy_binding/maximum_false_allow_upper_bound_bps", json!(10_000)),
                ("/calibration_binding/false_allow_upper_bound_bps", json!(10_000)),
            ],
        ),
        passed(
            "c7-longest-texts",
            &[
                ("/action_classification/action_class", json!("c".repeat(256))),
                ("/action_classification/classifier_version", json!("v".repeat(128))),
                ("/policy_binding/action_class", json!("c".repeat(256))),
                ("/policy_binding/id", json!("😀".repeat(128))),
                ("/policy_binding/version", json!("v".repeat(128))),
                ("/calibration_binding/action_class", json!("c".repeat(256))),
                ("/calibration_binding/policy_id", json!("😀".repeat(128))),
                ("/calibration_binding/policy_version", json!("v".repeat(128))),
                ("/calibration_binding/id", json!("i".repeat(256))),
            ],
        ),
        set("c-other-status", "/gate/status", json!("not_applicable"), "gate_mismatch"),
        set("c-other-codes", "/gate/reason_codes", json!(["ALLOW_POLICY_UNBOUND"]), "gate_mismatch"),
        patched(
            "c-order-of-codes",
            &[
                ("/calibration_binding/sample_size", json!(1)),
                ("/calibration_binding/expires_at", json!(checked)),
                ("/gate/status", json!("downgraded")),
                (
                    "/gate/reason_codes",
                    json!(["ALLOW_CALIBRATION_EXPIRED", "ALLOW_CALIBRATION_INSUFFICIENT"]),
                ),
            ],
            &[],
            code("gate_mismatch"),
        ),
        patched(
            "c-before-d",
            &[("/gate/status", json!("downgraded")), ("/decision", json!("REVIEW"))],
            &[],
            code("gate_mismatch"),
        ),
        set("d-decision", "/decision", json!("REVIEW"), "decision_mismatch"),
        set("d-codes", "/reason_codes", json!(["FACT_CHANGED"]), "reason_codes_mismatch"),
        set("d-no-codes", "/reason_codes", json!([]), "reason_codes_mismatch"),
        patched(
            "d-downgraded-keeps-allow",
            &[
                (CALIBRATION, json!(null)),
                ("/gate/status", json!("downgraded")),
                ("/gate/reason_codes", json!(["ALLOW_CALIBRATION_UNBOUND"])),
            ],
            &[],
            code("decision_mismatch"),
        ),
        patched(
            "d-decision-before-codes",
            &[("/decision", json!("BLOCK")), ("/reason_codes", json!([]))],
            &[],
            code("decision_mismatch"),
        ),
    ]
}
