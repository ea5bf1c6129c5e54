//! Decision tables, facts that are refused, and the comparison with what a receipt states.
//!
//! Source: receipt verification, sections 10.1, 10.3 and 10.4.

use super::{add_cases, code, merge, patched};
use crate::files::Files;
use crate::oracle::{self, Decided};
use crate::receipts;
use serde_json::{Value, json};

const MATERIALITIES: [&str; 4] = ["low", "medium", "high", "critical"];
const STATES: [&str; 3] = ["holds", "changed", "unknown"];
const METHODS: [&str; 3] = ["state", "live", "timeout"];
const FLAGS: [bool; 2] = [false, true];

/// How many lists of several facts are drawn.
const DRAWN_LISTS: u32 = 150;

/// A fixed sequence of numbers that look drawn (a linear congruential generator with the constants of
/// Knuth's MMIX).
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The upper bits are the ones that look drawn.
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from.get(self.below(from.len())).expect("an index below the length").clone()
    }

    fn temporal_state(&mut self) -> Value {
        self.pick(&[json!(null), json!("current"), json!("expired"), json!("Expired"), json!("superseded")])
    }

    fn freshness_failure(&mut self) -> Value {
        self.pick(&[
            json!(null),
            json!("stale"),
            json!("dormant"),
            json!("basis_superseded"),
            json!("source_unreachable"),
            json!("ttl_expired"),
        ])
    }

    /// A `basis` member, when there is one: those that contest, or those that do not.
    fn basis(&mut self, contested: bool) -> Option<Value> {
        let contesting = || json!({"role": "contesting"});
        if contested {
            Some(self.pick(&[json!([contesting()]), json!([{}, 1, null, contesting()])]))
        } else {
            let none = [
                json!([]),
                json!({"0": contesting()}),
                json!(["contesting"]),
                json!([{"role": "Contesting"}]),
                json!([{"role": ["contesting"]}]),
            ];
            (self.below(4) > 0).then(|| self.pick(&none))
        }
    }

    fn fact(
        &mut self,
        materiality: &str,
        state: &str,
        method: &str,
        [stale, novel, contested]: [bool; 3],
    ) -> Value {
        let mut fact = json!({
            "materiality": materiality, "state": state, "method": method, "stale_pending": stale, "novel": novel,
            "temporal_state": self.temporal_state(), "freshness_failure": self.freshness_failure(),
        });
        if let Some(basis) = self.basis(contested) {
            fact["basis"] = basis;
        }
        fact
    }
}

fn verdict((verdict, codes): &Decided) -> Value {
    json!({"verdict": verdict, "reason_codes": codes})
}

/// A case of a fact list: what each rule makes of it.
fn decided(id: &str, facts: Vec<Value>, uncertain: bool) -> Value {
    let newer = oracle::decide(&facts, uncertain, "1.1.0");
    let (last, status) = oracle::decide_gate_unavailable(&newer);
    let mut gated = verdict(&last);
    merge(&mut gated, json!({"candidate": verdict(&newer), "gate_status": status}));
    json!({
        "id": id, "kind": "decide", "uncertain": uncertain,
        "1.0.0": verdict(&oracle::decide(&facts, uncertain, "1.0.0")), "1.1.0": verdict(&newer), "2.0.0": gated,
        "facts": facts,
    })
}

fn tables() -> Vec<Value> {
    let mut sequence = Sequence(2026);
    let mut cases = vec![decided("no-facts", vec![], false), decided("no-facts-uncertain", vec![], true)];
    for materiality in MATERIALITIES {
        for state in STATES {
            for method in METHODS {
                for bits in 0..8 {
                    let flags = [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0];
                    let fact = sequence.fact(materiality, state, method, flags);
                    let id = format!("one-{materiality}-{state}-{method}-{bits}");
                    cases.push(decided(&id, vec![fact], sequence.below(6) == 0));
                }
            }
        }
    }
    for number in 0..DRAWN_LISTS {
        let mut facts = Vec::new();
        for _ in 0..2 + sequence.below(3) {
            let flags = [sequence.below(5) == 0, sequence.below(3) == 0, sequence.pick(&FLAGS)];
            let (materiality, state, method) =
                (sequence.pick(&MATERIALITIES), sequence.pick(&STATES), sequence.pick(&METHODS));
            facts.push(sequence.fact(materiality, state, method, flags));
        }
        cases.push(decided(&format!("list-{number}"), facts, sequence.below(4) == 0));
    }
    cases
}

/// Cases whose expectation is stated by hand; they hold the second implementation to the rows as well.
fn rows() -> Vec<Value> {
    let fact = |materiality: &str, state: &str| json!({"materiality": materiality, "state": state, "method": "state", "stale_pending": false, "novel": false, "temporal_state": null, "freshness_failure": null});
    let with = |mut fact: Value, more: Value| {
        merge(&mut fact, more);
        fact
    };
    let contesting = || json!({"basis": [{"role": "contesting"}]});
    // Facts, whether compilation is uncertain, what 1.0.0 decides, what 1.1.0 decides.
    type Row = (&'static str, Vec<Value>, bool, Decided, Decided);
    let same =
        |id, facts, uncertain, decided: Decided| -> Row { (id, facts, uncertain, decided.clone(), decided) };
    let rows: Vec<Row> = vec![
        same("row-1-high", vec![fact("high", "changed")], false, ("BLOCK", vec!["FACT_CHANGED"])),
        same("row-1-critical", vec![fact("critical", "changed")], false, ("BLOCK", vec!["FACT_CHANGED"])),
        same(
            "row-1-contested-still-blocks",
            vec![with(fact("high", "changed"), contesting())],
            false,
            ("BLOCK", vec!["FACT_CHANGED"]),
        ),
        same(
            "row-1-second-fact",
            vec![fact("low", "unknown"), fact("high", "changed")],
            false,
            ("BLOCK", vec!["FACT_UNKNOWN", "FACT_CHANGED"]),
        ),
        same("row-2", vec![fact("critical", "unknown")], false, ("BLOCK", vec!["FACT_UNKNOWN"])),
        (
            "row-2-contested",
            vec![with(fact("critical", "unknown"), contesting())],
            false,
            ("BLOCK", vec!["FACT_UNKNOWN"]),
            ("REVIEW", vec!["FACT_UNKNOWN"]),
        ),
        same("row-2-high-is-review", vec![fact("high", "unknown")], false, ("REVIEW", vec!["FACT_UNKNOWN"])),
        same("row-3-uncertain", vec![], true, ("REVIEW", vec!["COMPILATION_UNCERTAIN"])),
        same(
            "row-3-medium-changed",
            vec![fact("medium", "changed")],
            false,
            ("REVIEW", vec!["FACT_CHANGED"]),
        ),
        same(
            "row-3-timeout",
            vec![with(fact("low", "holds"), json!({"method": "timeout"}))],
            false,
            ("REVIEW", vec!["FACT_UNKNOWN"]),
        ),
        same(
            "row-3-timeout-uncertain",
            vec![with(fact("low", "holds"), json!({"method": "timeout"}))],
            true,
            ("REVIEW", vec!["COMPILATION_UNCERTAIN"]),
        ),
        same(
            "row-3-stale",
            vec![with(fact("critical", "holds"), json!({"stale_pending": true}))],
            false,
            ("REVIEW", vec!["SOURCE_UPDATED_PENDING_REVIEW"]),
        ),
        same("row-4", vec![fact("critical", "holds")], false, ("ALLOW", vec!["ALL_FACTS_HOLD"])),
        same(
            "row-4-novel",
            vec![with(
                fact("critical", "holds"),
                json!({"novel": true, "freshness_failure": "stale", "temporal_state": "expired"}),
            )],
            false,
            ("ALLOW", vec!["ALL_FACTS_HOLD"]),
        ),
        same("row-4-no-facts", vec![], false, ("ALLOW", vec!["ALL_FACTS_HOLD"])),
        same(
            "code-expired",
            vec![with(fact("low", "changed"), json!({"temporal_state": "expired", "stale_pending": true}))],
            false,
            ("REVIEW", vec!["FACT_EXPIRED"]),
        ),
        same(
            "code-stale-before-unknown",
            vec![with(fact("low", "unknown"), json!({"stale_pending": true, "novel": true}))],
            false,
            ("REVIEW", vec!["SOURCE_UPDATED_PENDING_REVIEW"]),
        ),
        same(
            "code-unreachable-before-novel",
            vec![with(
                fact("low", "unknown"),
                json!({"freshness_failure": "source_unreachable", "novel": true}),
            )],
            false,
            ("REVIEW", vec!["SOURCE_UNREACHABLE"]),
        ),
        same(
            "code-novel",
            vec![with(fact("low", "unknown"), json!({"novel": true, "freshness_failure": "stale"}))],
            false,
            ("REVIEW", vec!["NEW_FACT_UNVERIFIED"]),
        ),
        same(
            "code-unknown-timeout",
            vec![with(fact("low", "unknown"), json!({"method": "timeout"}))],
            false,
            ("REVIEW", vec!["NEW_FACT_UNVERIFIED"]),
        ),
        same(
            "code-once",
            vec![fact("low", "changed"), fact("low", "unknown"), fact("low", "changed")],
            true,
            ("REVIEW", vec!["COMPILATION_UNCERTAIN", "FACT_CHANGED", "FACT_UNKNOWN"]),
        ),
    ];
    rows.into_iter()
        .map(|(id, facts, uncertain, older, newer)| {
            let case = decided(id, facts, uncertain);
            assert_eq!(case["1.0.0"], verdict(&older), "{id}: the second implementation disagrees");
            assert_eq!(case["1.1.0"], verdict(&newer), "{id}: the second implementation disagrees");
            case
        })
        .collect()
}

/// Receipts that cannot be judged, and those that state something else than follows.
fn compared() -> Vec<Value> {
    let set = |id: &str, pointer: &str, value: Value, expected: &str| {
        patched(id, &[(pointer, value)], &[], code(expected))
    };
    let remove = |id: &str, pointer: &str, expected: &str| patched(id, &[], &[pointer], code(expected));
    let fact = |id: &str, member: &str, value: Value, expected: &str| {
        patched(id, &[(&format!("/facts/1/{member}"), value)], &[], code(expected))
    };
    let missing = |id: &str, member: &str, expected: &str| {
        patched(id, &[], &[&format!("/facts/1/{member}")], code(expected))
    };
    let discriminators = "fact_discriminators_missing";
    let failure = "fact_freshness_failure_unknown";
    let sound = |id: &str, set: &[(&str, Value)]| patched(id, set, &[], json!({"code": null}));
    vec![
        sound("8-matches", &[]),
        set("1-not-object", "", json!([]), "receipt_not_object"),
        set("1-null", "", json!(null), "receipt_not_object"),
        remove("2-no-version", "/decision_rule_version", "rule_version_missing"),
        set("2-version-number", "/decision_rule_version", json!(1.1), "rule_version_missing"),
        set(
            "3-version-unknown",
            "/decision_rule_version",
            json!("check-decision/3.0.0"),
            "rule_version_unsupported",
        ),
        set("3-version-short", "/decision_rule_version", json!("1.1.0"), "rule_version_unsupported"),
        remove("fact-row-2-missing", "/compilation_uncertain", "compilation_uncertain_missing"),
        set("fact-row-2-text", "/compilation_uncertain", json!("false"), "compilation_uncertain_missing"),
        remove("fact-row-3-missing", "/facts", "facts_missing"),
        set("fact-row-3-object", "/facts", json!({}), "facts_missing"),
        set("fact-row-4", "/facts/1", json!([]), "fact_not_object"),
        missing("fact-row-5-stale", "stale_pending", discriminators),
        fact("fact-row-5-novel", "novel", json!(0), discriminators),
        missing("fact-row-6", "temporal_state", "fact_temporal_state_missing"),
        missing("fact-row-7-missing", "freshness_failure", failure),
        fact("fact-row-7-unknown", "freshness_failure", json!("Stale"), failure),
        fact("fact-row-7-false", "freshness_failure", json!(false), failure),
        fact("fact-row-8", "materiality", json!("severe"), "fact_materiality_unknown"),
        missing("fact-row-8-missing", "materiality", "fact_materiality_unknown"),
        fact("fact-row-9", "state", json!("Holds"), "fact_state_unknown"),
        fact("fact-row-9-null", "state", json!(null), "fact_state_unknown"),
        fact("fact-row-10", "method", json!("cached"), "fact_method_unknown"),
        fact("fact-row-11", "temporal_state", json!(1), "fact_temporal_state_invalid"),
        fact("fact-row-11-array", "temporal_state", json!(["expired"]), "fact_temporal_state_invalid"),
        patched(
            "fact-order-5-before-6",
            &[("/facts/0/novel", json!(1))],
            &["/facts/0/temporal_state"],
            code(discriminators),
        ),
        patched(
            "fact-order-6-before-7",
            &[("/facts/0/freshness_failure", json!(1))],
            &["/facts/0/temporal_state"],
            code("fact_temporal_state_missing"),
        ),
        patched(
            "fact-order-10-before-11",
            &[("/facts/0/method", json!(1)), ("/facts/0/temporal_state", json!(1))],
            &[],
            code("fact_method_unknown"),
        ),
        patched(
            "fact-order-first-fact-whole",
            &[("/facts/0/temporal_state", json!(1)), ("/facts/1", json!(null))],
            &[],
            code("fact_temporal_state_invalid"),
        ),
        patched(
            "fact-order-before-nothing-stated",
            &[("/facts/0", json!(1))],
            &["/decision"],
            code("fact_not_object"),
        ),
        remove("5-no-decision", "/decision", "verdict_not_stated"),
        set("5-decision-null", "/decision", json!(null), "verdict_not_stated"),
        remove("5-no-codes", "/reason_codes", "verdict_not_stated"),
        set("5-codes-with-number", "/reason_codes", json!(["FACT_CHANGED", 1]), "verdict_not_stated"),
        set("6-other-verdict", "/decision", json!("ALLOW"), "decision_mismatch"),
        set("6-unpublished-verdict", "/decision", json!("MAYBE"), "decision_mismatch"),
        set("6-case", "/decision", json!("review"), "decision_mismatch"),
        set("7-other-code", "/reason_codes", json!(["FACT_EXPIRED"]), "reason_codes_mismatch"),
        set("7-more", "/reason_codes", json!(["FACT_CHANGED", "FACT_UNKNOWN"]), "reason_codes_mismatch"),
        set("7-none", "/reason_codes", json!([]), "reason_codes_mismatch"),
        set(
            "7-duplicates-count",
            "/reason_codes",
            json!(["FACT_CHANGED", "FACT_CHANGED"]),
            "reason_codes_mismatch",
        ),
        sound(
            "8-order-of-codes-is-free",
            &[
                ("/compilation_uncertain", json!(true)),
                ("/reason_codes", json!(["FACT_CHANGED", "COMPILATION_UNCERTAIN"])),
            ],
        ),
        sound(
            "8-other-members-are-ignored",
            &[("/facts/0/note", json!(1)), ("/candidate_decision", json!("BLOCK")), ("/gate", json!(1))],
        ),
        sound("8-basis-of-another-type", &[("/facts/0/basis", json!(1))]),
    ]
    .into_iter()
    .map(|mut case| {
        case["kind"] = json!("compare");
        case
    })
    .collect()
}

/// What the derivation itself refuses, without the checks that [`compared`] meets first.
fn refused() -> Vec<Value> {
    let version = "/decision_rule_version";
    [
        patched("derive-row-1", &[("", json!("x"))], &[], code("receipt_not_object")),
        patched("derive-row-2", &[], &["/compilation_uncertain"], code("compilation_uncertain_missing")),
        patched(
            "derive-row-12",
            &[(version, json!("check-decision/9.0.0"))],
            &[],
            code("rule_version_unsupported"),
        ),
        patched("derive-row-13", &[], &[version], code("rule_version_missing")),
        patched("derive-row-13-null", &[(version, json!(null))], &[], code("rule_version_missing")),
        patched(
            "derive-facts-before-12",
            &[(version, json!("x")), ("/facts/1/state", json!("x"))],
            &[],
            code("fact_state_unknown"),
        ),
        patched("derive-facts-before-13", &[("/facts", json!(null))], &[version], code("facts_missing")),
        patched("derive-nothing-stated-is-no-matter", &[], &["/decision"], json!({"code": null})),
    ]
    .into_iter()
    .map(|mut case| {
        case["kind"] = json!("derive");
        case
    })
    .collect()
}

pub(crate) fn add(files: &mut Files) {
    let base: Value = serde_json::from_str(&receipts::review()).expect("a generated receipt");
    let mut cases = rows();
    cases.extend(tables());
    cases.extend(compared());
    cases.extend(refused());
    add_cases(files, "decision", json!({"base": base}), cases);
}
