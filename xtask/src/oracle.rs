//! A second implementation of the decision tables, so that the vectors do not come from the code they test.
//!
//! Written from the specification's rows alone, in another shape than the library's: it works on JSON facts
//! and words, not on types.
//!
//! Source: receipt verification, section 10.4.

use serde_json::Value;

/// A verdict and its reason codes.
pub(crate) type Decided = (&'static str, Vec<&'static str>);

fn is(fact: &Value, member: &str, word: &str) -> bool {
    fact[member] == *word
}

fn contested(fact: &Value) -> bool {
    match &fact["basis"] {
        Value::Array(basis) => basis.iter().any(|entry| entry.is_object() && entry["role"] == "contesting"),
        _ => false,
    }
}

/// Decides under rule 1.0.0 or 1.1.0 (which is also the candidate of 2.0.0).
pub(crate) fn decide(facts: &[Value], uncertain: bool, rule: &str) -> Decided {
    let row_1 = facts.iter().any(|fact| {
        is(fact, "state", "changed")
            && (is(fact, "materiality", "high") || is(fact, "materiality", "critical"))
    });
    let row_2 = facts.iter().any(|fact| {
        let unknown_critical = is(fact, "state", "unknown") && is(fact, "materiality", "critical");
        unknown_critical && (rule == "1.0.0" || !contested(fact))
    });
    let row_3 = uncertain
        || facts.iter().any(|fact| {
            !is(fact, "state", "holds") || is(fact, "method", "timeout") || fact["stale_pending"] == true
        });
    if row_1 || row_2 {
        ("BLOCK", codes(facts, uncertain))
    } else if row_3 {
        ("REVIEW", codes(facts, uncertain))
    } else {
        ("ALLOW", vec!["ALL_FACTS_HOLD"])
    }
}

fn codes(facts: &[Value], uncertain: bool) -> Vec<&'static str> {
    let mut found = Vec::new();
    if uncertain {
        found.push("COMPILATION_UNCERTAIN");
    }
    for fact in facts {
        let code = if is(fact, "state", "changed") {
            if is(fact, "temporal_state", "expired") { "FACT_EXPIRED" } else { "FACT_CHANGED" }
        } else if fact["stale_pending"] == true {
            "SOURCE_UPDATED_PENDING_REVIEW"
        } else if is(fact, "state", "unknown") {
            if is(fact, "freshness_failure", "source_unreachable") {
                "SOURCE_UNREACHABLE"
            } else if fact["novel"] == true || is(fact, "method", "timeout") {
                "NEW_FACT_UNVERIFIED"
            } else {
                "FACT_UNKNOWN"
            }
        } else {
            continue;
        };
        if !found.contains(&code) {
            found.push(code);
        }
    }
    if found.is_empty() {
        found.push("FACT_UNKNOWN");
    }
    found
}

/// Decides under rule 2.0.0 when its gate could not be evaluated: verdict, codes and gate status.
///
/// Source: receipt verification, section 10.5, rows C 1 and C 2 and part D.
pub(crate) fn decide_gate_unavailable(candidate: &Decided) -> (Decided, &'static str) {
    if candidate.0 == "ALLOW" {
        (("REVIEW", vec!["ALLOW_GATE_UNAVAILABLE"]), "downgraded")
    } else {
        (candidate.clone(), "not_applicable")
    }
}
