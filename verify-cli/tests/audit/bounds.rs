//! Order under load, memory, and input made to exhaust it.

use crate::support::{Room, gzip, padded_receipt, receipt};
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Peak memory of a run in KiB, whose rows all have to be of that code.
#[cfg(target_os = "linux")]
fn peak_kib(room: &Room, arguments: &[&str]) -> (u64, usize) {
    use std::io::{BufRead as _, BufReader};
    let mut child = Command::new(env!("CARGO_BIN_EXE_receipt-verify"))
        .current_dir(room.path(""))
        .arg("audit")
        .args(arguments)
        .args(["--keyset", "keys.json", "--format", "json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let status = format!("/proc/{}/status", child.id());
    let (mut rows, mut peak) = (0, 0);
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        line.expect("UTF-8");
        rows += 1;
        // Once in a while, since the process still runs while its pipe is read; VmHWM only grows.
        if rows % 50 == 0 {
            peak = peak.max(high_water(&status));
        }
    }
    child.wait().expect("it ends");
    (peak, rows - 1)
}

#[cfg(target_os = "linux")]
fn high_water(status: &str) -> u64 {
    let status = fs::read_to_string(status).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0)
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_flat_however_many_receipts() {
    let room = Room::new();
    let line = format!("{}\n", padded_receipt("large", 64_000));
    let mut file = fs::File::create(room.path("in/many.jsonl")).expect("a file");
    for _ in 0..3_000 {
        file.write_all(line.as_bytes()).expect("written");
    }
    drop(file);
    let (peak, rows) = peak_kib(&room, &["in", "--jobs", "4"]);
    assert_eq!(rows, 3_000);
    assert!((1..64 * 1024).contains(&peak), "{peak} KiB for 190 MB of input");
}

#[cfg(target_os = "linux")]
#[test]
fn ten_thousand_files_come_in_order_in_little_memory() {
    let room = Room::new();
    let receipt = receipt("a");
    for number in 0..10_000 {
        fs::write(room.path("in").join(format!("{number:05}.json")), &receipt).expect("a file");
    }
    let run = room.json(&["in", "--jobs", "5"]);
    assert_eq!(run.code, 0);
    let sources: Vec<&str> = run.rows.iter().map(|row| row["source"].as_str().expect("a source")).collect();
    assert_eq!(sources.len(), 10_000);
    assert!(sources.is_sorted());
    let (peak, rows) = peak_kib(&room, &["in", "--jobs", "5"]);
    assert_eq!(rows, 10_000);
    assert!((1..64 * 1024).contains(&peak), "{peak} KiB");
}

#[test]
fn order_holds_when_receipts_differ_in_size() {
    let room = Room::new();
    let lines: String = (0..2_000_usize)
        .map(|id| if id % 97 == 0 { padded_receipt(&id.to_string(), 300_000) } else { receipt(&id.to_string()) } + "\n")
        .collect();
    room.put("all.jsonl", lines);
    for jobs in ["1", "2", "16"] {
        let run = room.json(&["in", "--jobs", jobs]);
        assert_eq!(run.code, 0);
        let ids: Vec<&str> = run.rows.iter().map(|row| row["receipt_id"].as_str().expect("an id")).collect();
        let lines: Vec<u64> = run.rows.iter().map(|row| row["line"].as_u64().expect("a line")).collect();
        assert!(ids.iter().enumerate().all(|(index, id)| *id == index.to_string()), "{jobs}");
        assert!(lines.iter().copied().eq(1..=2_000), "{jobs}");
    }
}

#[test]
fn a_huge_line_is_an_outcome_and_the_rest_goes_on() {
    let room = Room::new();
    let mut file = fs::File::create(room.path("in/huge.jsonl")).expect("a file");
    file.write_all(format!("{}\n", receipt("a")).as_bytes()).expect("written");
    for _ in 0..40 {
        file.write_all(&vec![b'x'; 1024 * 1024]).expect("written");
    }
    file.write_all(format!("\n{}\n", receipt("b")).as_bytes()).expect("written");
    drop(file);
    room.put("large.json", vec![b' '; 8_388_609]);
    room.put("fits.json", " ".repeat(8_388_608 - receipt("c").len()) + &receipt("c"));
    let run = room.json(&["in"]);
    let expected = [
        "in/fits.json accepted",
        "in/huge.jsonl:1 accepted",
        "in/huge.jsonl:2 unreadable",
        "in/huge.jsonl:3 accepted",
        "in/large.json unreadable",
    ];
    assert_eq!(run.codes(), expected);
    assert!(run.detail(2).contains("8388608") && run.detail(4).contains("8388608"));
}

#[test]
fn compressed_bombs_are_refused_early() {
    let room = Room::new();
    let zeros = gzip(&vec![b'\n'; 64 * 1024 * 1024]);
    room.put("1-lines.jsonl.gz", [&gzip(format!("{}\n", receipt("a")).as_bytes())[..], &zeros].concat());
    room.put("2-one.json.gz", &zeros);
    room.put("3-line.jsonl.gz", gzip(&vec![b'x'; 12 * 1024 * 1024]));
    let run = room.json(&["in"]);
    assert_eq!(run.rows.len(), 4, "{:?}", run.codes());
    assert_eq!(run.codes()[0], "in/1-lines.jsonl.gz:1 accepted");
    for (row, words) in [(1, "500 times"), (2, "8388608"), (3, "8388608")] {
        assert_eq!(run.rows[row]["code"], "unreadable");
        assert!(run.detail(row).contains(words), "{}", run.detail(row));
    }
    assert_eq!(run.code, 2);
}

#[test]
fn slow_input_is_answered_as_it_comes() {
    use std::io::{BufRead as _, BufReader};
    let room = Room::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_receipt-verify"))
        .current_dir(room.path(""))
        .args(["audit", "-", "--keyset", "keys.json", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut rows = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    for id in ["a", "b"] {
        writeln!(stdin, "{}", receipt(id)).expect("written");
        let row = rows.next().expect("a row").expect("UTF-8");
        assert!(row.contains(&format!("\"receipt_id\":\"{id}\"")), "{row}");
    }
    drop(stdin);
    assert!(rows.next().expect("a summary").expect("UTF-8").contains("\"total\":2"));
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}
