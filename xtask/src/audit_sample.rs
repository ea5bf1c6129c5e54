//! `fixtures/audit-sample`: a small folder with something of everything an audit reports.

use crate::files::Files;
use crate::receipts::{self, CHECKED_AT};
use crate::signing::{OTHER_KEY_ID, other_key, signature, signed, signed_file, with_signature};
use flate2::{Compression, GzBuilder};
use kaval_receipt::json::Layout;
use std::io::Write as _;

/// An unsigned receipt of a series, with its own id and time.
fn numbered(template: &str, number: u32) -> String {
    let id = format!("7a1c9f52-3b84-4e0d-9c6e-{number:012x}");
    let start = template.find("7a1c9f52").expect("every template has such an id");
    let (head, tail) = template.split_at(start);
    let time = CHECKED_AT.replace("09:30", &format!("09:{:02}", 30 + number % 30));
    format!("{head}{id}{}", tail.get(id.len()..).expect("an id is that long")).replace(CHECKED_AT, &time)
}

fn lines(numbers: std::ops::Range<u32>) -> Vec<String> {
    let templates = [receipts::allow(), receipts::review(), receipts::block(), receipts::gate_downgraded()];
    let template = |number: u32| templates.iter().cycle().nth(number as usize).expect("cycles do not end");
    numbers.map(|number| signed(&numbered(template(number), number))).collect()
}

pub(crate) fn add(files: &mut Files) {
    files.add("audit-sample/2026-08-01-refund.json", signed_file(&numbered(&receipts::allow(), 0xa1)));
    files.add("audit-sample/2026-08-01-limit.json", signed_file(&numbered(&receipts::block(), 0xa2)));
    files.add("audit-sample/2026-08-02-gate.json", signed_file(&numbered(&receipts::gate_passed(), 0xa3)));
    files.add("audit-sample/2026-08-03-mismatch.json", signed_file(&numbered(&receipts::mismatch(), 0xa4)));
    let unsigned = numbered(&receipts::review(), 0xa5);
    let unknown =
        with_signature(&unsigned, OTHER_KEY_ID, &signature(&unsigned, &other_key()), Layout::Indented);
    files.add("audit-sample/unknown-key.json", unknown + "\n");
    // Cut in the middle of a member, as an interrupted download leaves it.
    let broken = signed_file(&numbered(&receipts::allow(), 0xa6));
    files.add("audit-sample/broken.json", broken.get(..400).expect("longer and ASCII so far"));

    // Ten lines: eight good receipts, a blank line and a forged receipt.
    let mut stream = lines(0..8);
    stream.insert(3, String::new());
    stream.insert(6, receipts::forged(&numbered(&receipts::allow(), 0xf0)));
    files.add("audit-sample/receipts.jsonl", stream.join("\n") + "\n");

    let mut more = lines(8..13);
    let tampered = signed(&numbered(&receipts::allow(), 0xf1)).replace("200 EUR", "900 EUR");
    more.push(tampered);
    files.add("audit-sample/more.jsonl.gz", gzip(&(more.join("\n") + "\n")));
    files.add("audit-sample/notes.txt", "Not a receipt: an audit of this folder passes over this file.\n");
}

/// Stored, not compressed, and without a time: the bytes depend on no compressor's version and no clock.
fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::none());
    encoder.write_all(text.as_bytes()).expect("a vector takes every byte");
    encoder.finish().expect("a vector takes every byte")
}
