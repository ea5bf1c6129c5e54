//! Speed of checking a receipt, beside one bare signature check over the same bytes.
//!
//! Prints a Markdown table. Each figure is the best of several rounds, alternated between the variants, so
//! that other work on the machine disturbs them alike.
#![allow(clippy::print_stdout, reason = "a report for people")]

#[path = "../tests/support/mod.rs"]
mod support;

use ed25519_dalek::Signer as _;
use kaval_receipt::{Auditor, EvaluationTime, Gates, Outcome, canonical, json};
use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;
const ROUND: Duration = Duration::from_millis(150);

fn fact(index: usize) -> String {
    format!(
        r#"{{"fingerprint":"fact:sha256:9d41c07be2f3{index:04}","text":"Northwind reimburses travel claims within 45 days","materiality":"medium","state":"holds","checked_at":"2026-08-01T09:30:00.000Z","method":"state","temporal_state":"current","stale_pending":false,"novel":false,"freshness_failure":null,"basis":[{{"source_locator":"https://policies.example.com/travel/{index}","version_sha256":"7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a","parser_name":"html"}}]}}"#
    )
}

/// A signed receipt of about `bytes` bytes with that many facts.
fn receipt(bytes: usize, facts: usize) -> String {
    let unsigned = |padding: usize| {
        format!(
            r#"{{"receipt_version":"check-receipt/1.0.0","id":"0f6a4b1e-6c0d-4c58-9a53-2f0b7d1c9e44","tenant_id":"5d0c2f7a-8b1e-4f6d-b3c9-1a2e3f4a5b6c","workspace_id":null,"decision":"ALLOW","reason_codes":["ALL_FACTS_HOLD"],"decision_rule_version":"check-decision/1.1.0","mode":"standard","checked_at":"2026-08-01T09:30:00.000Z","compilation_uncertain":false,"facts":[{}],"proof_packet_ids":["{}"]}}"#,
            (0..facts).map(fact).collect::<Vec<_>>().join(","),
            "p".repeat(padding)
        )
    };
    support::sign(&unsigned(bytes.saturating_sub(support::sign(&unsigned(0)).len())))
}

/// One round of a variant: microseconds a call.
fn round(run: &mut dyn FnMut()) -> f64 {
    let mut calls = 0_u32;
    let start = Instant::now();
    while start.elapsed() < ROUND {
        for _ in 0..8 {
            run();
        }
        calls += 8;
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
}

fn main() {
    println!("| receipt | bare strict check | check and derive from text | ratio | read and canonicalise |");
    println!("|---|---|---|---|---|");
    let keyset = support::active();
    let at = EvaluationTime::parse("2026-08-01T10:00:00Z").expect("a valid instant");
    for (bytes, facts) in [(1_500, 1), (3_000, 3), (50_000, 100)] {
        let text = receipt(bytes, facts);
        let document = json::parse(&text).expect("strict JSON");
        let signed = canonical::canonical_unsigned_receipt(&document).expect("an object");
        let (key, signature) =
            (support::signing_key().verifying_key(), support::signing_key().sign(signed.as_bytes()));
        let mut auditor = Auditor::new(&keyset, at.clone(), Gates::default());
        assert_eq!(auditor.assess_text(&text).outcome, Outcome::Accepted);
        let mut buffer = Vec::new();
        let mut best = [f64::MAX; 3];
        for _ in 0..ROUNDS {
            let variants: [&mut dyn FnMut(); 3] = [
                &mut || assert!(black_box(key.verify_strict(signed.as_bytes(), &signature)).is_ok()),
                &mut || assert_eq!(black_box(auditor.assess_text(&text)).outcome, Outcome::Accepted),
                &mut || {
                    buffer.clear();
                    let document = json::parse(black_box(&text)).expect("strict JSON");
                    canonical::write_canonical(&mut buffer, &document).expect("canonical");
                },
            ];
            for (best, run) in best.iter_mut().zip(variants) {
                *best = best.min(round(run));
            }
        }
        let [bare, full, read] = best;
        let size = f64::from(u32::try_from(text.len()).expect("small"));
        println!(
            "| {:.1} KB, {facts} facts | {bare:.1} us ({:.0}/s) | {full:.1} us ({:.0}/s) | {:.2} | {:.0} MB/s |",
            size / 1e3,
            1e6 / bare,
            1e6 / full,
            full / bare,
            size / read
        );
    }
}
