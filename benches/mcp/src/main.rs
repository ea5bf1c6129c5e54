//! Measures an MCP server over stdio: start, memory, latency, throughput and CPU, ours beside a baseline,
//! against one fake API in this process. Prints a Markdown table. Linux only: it reads `/proc`.
//!
//! `kaval-bench NAME=COMMAND [ARGS]... [-- NAME=COMMAND [ARGS]...]`, rounds interleaved. Usually started by
//! `benches/mcp/run`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a measuring program: its report is stdout, and a failed step must stop it"
)]

mod session;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use kaval_fake_api::{Api, Recording, Reply, pad_check};
use session::{Session, Streams, Subject};

/// Rounds over all servers; the table gives the median of them.
const ROUNDS: usize = 3;
/// Starts in a round.
const STARTS: usize = 15;
/// Fresh processes in a round whose first call is timed.
const FIRST_CALLS: usize = 7;
/// Calls made one at a time in a round, after as many warm-up calls as `WARM_UP`.
const ONE_AT_A_TIME: usize = 2_000;
/// Calls before timing begins.
const WARM_UP: usize = 300;
/// Calls with several in flight in a round.
const IN_BULK: usize = 20_000;
/// Calls in flight then.
const IN_FLIGHT: usize = 32;
/// All calls of a round: first calls, the life of one process, one at a time, and the two bulk runs.
const CALLS_PER_ROUND: usize = FIRST_CALLS + 20_000 + WARM_UP + ONE_AT_A_TIME + 2 * (WARM_UP + IN_BULK);
/// Size of the API's answer, that of a usual check.
const REPLY_BYTES: usize = 2_048;
/// Rest after the handshake, so that what a server builds in the background is done.
const SETTLE: Duration = Duration::from_millis(300);

#[derive(Default)]
struct Figures {
    start_ms: Vec<f64>,
    start_cpu_ms: Vec<f64>,
    first_call_ms: Vec<f64>,
    memory_mib: [Vec<f64>; 4],
    p50_ms: Vec<f64>,
    p99_ms: Vec<f64>,
    single_cpu_us: Vec<f64>,
    bulk: [Vec<f64>; 2],
    bulk_cpu_us: [Vec<f64>; 2],
}

fn main() {
    let subjects = Subject::from_arguments(std::env::args().skip(1));
    assert!(!subjects.is_empty(), "usage: kaval-bench NAME=COMMAND [ARGS]... [-- NAME=COMMAND [ARGS]...]");
    let body = pad_check(REPLY_BYTES);
    let api = Api::start_at(
        Arc::new(move |_| Reply::new(200, body.clone())),
        Recording::CountOnly,
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        0,
    );
    let url = api.url();
    let mut figures: Vec<Figures> = subjects.iter().map(|_| Figures::default()).collect();
    for round in 1..=ROUNDS {
        for (subject, figures) in subjects.iter().zip(&mut figures) {
            eprintln!("round {round} of {ROUNDS}: {}", subject.name);
            let before = api.count();
            measure(subject, &url, figures);
            // Each call must have reached the API: an error answered quickly is no speed.
            assert_eq!(api.count() - before, CALLS_PER_ROUND, "{}: calls that never arrived", subject.name);
        }
    }
    report(&subjects, &figures);
}

fn measure(subject: &Subject, url: &str, figures: &mut Figures) {
    let mut times = Vec::new();
    let mut cpu = Vec::new();
    for _ in 0..STARTS {
        let begin = Instant::now();
        let session = Session::start(subject, url, Streams::Fifos);
        times.push(millis(begin.elapsed()));
        cpu.push(millis(session.cpu()));
    }
    figures.start_ms.push(median(&mut times));
    figures.start_cpu_ms.push(median(&mut cpu));

    let mut times = Vec::new();
    for _ in 0..FIRST_CALLS {
        let mut session = Session::start(subject, url, Streams::Fifos);
        thread::sleep(SETTLE);
        let begin = Instant::now();
        session.call();
        times.push(millis(begin.elapsed()));
    }
    figures.first_call_ms.push(median(&mut times));

    // One process through its life: memory at each stage.
    let mut session = Session::start(subject, url, Streams::Fifos);
    thread::sleep(SETTLE);
    figures.memory_mib[0].push(session.resident_mib());
    for (stage, calls) in [(1, 1_000), (2, 9_000), (3, 10_000)] {
        session.bulk(calls, IN_FLIGHT);
        figures.memory_mib[stage].push(session.resident_mib());
    }
    drop(session);

    let mut session = Session::start(subject, url, Streams::Fifos);
    for _ in 0..WARM_UP {
        session.call();
    }
    let before = session.cpu();
    let mut times: Vec<f64> = (0..ONE_AT_A_TIME)
        .map(|_| {
            let begin = Instant::now();
            session.call();
            millis(begin.elapsed())
        })
        .collect();
    let spent = session.cpu() - before;
    figures.single_cpu_us.push(millis(spent) * 1000.0 / ONE_AT_A_TIME as f64);
    figures.p50_ms.push(quantile(&mut times, 0.50));
    figures.p99_ms.push(quantile(&mut times, 0.99));
    drop(session);

    for (kind, streams) in [Streams::Fifos, Streams::UnixSockets].into_iter().enumerate() {
        let mut session = Session::start(subject, url, streams);
        session.bulk(WARM_UP, IN_FLIGHT);
        let before = session.cpu();
        let begin = Instant::now();
        session.bulk(IN_BULK, IN_FLIGHT);
        let took = begin.elapsed();
        let spent = session.cpu() - before;
        figures.bulk[kind].push(IN_BULK as f64 / took.as_secs_f64());
        figures.bulk_cpu_us[kind].push(millis(spent) * 1000.0 / IN_BULK as f64);
    }
}

fn report(subjects: &[Subject], figures: &[Figures]) {
    type Pick = fn(&Figures) -> Vec<f64>;
    let rows: [(&str, usize, Pick); 15] = [
        ("start to `initialize` answered, ms", 2, |f| f.start_ms.clone()),
        ("CPU until then, ms", 2, |f| f.start_cpu_ms.clone()),
        ("memory after start, MiB", 1, |f| f.memory_mib[0].clone()),
        ("memory after 1,000 calls, MiB", 1, |f| f.memory_mib[1].clone()),
        ("memory after 10,000 calls, MiB", 1, |f| f.memory_mib[2].clone()),
        ("memory after 20,000 calls, MiB", 1, |f| f.memory_mib[3].clone()),
        ("first call, ms", 2, |f| f.first_call_ms.clone()),
        ("one call at a time, p50 ms", 3, |f| f.p50_ms.clone()),
        ("one call at a time, p99 ms", 3, |f| f.p99_ms.clone()),
        ("CPU per call, one at a time, us", 1, |f| f.single_cpu_us.clone()),
        ("32 in flight over FIFOs, calls/s", 0, |f| f.bulk[0].clone()),
        ("CPU per call there, us", 1, |f| f.bulk_cpu_us[0].clone()),
        ("32 in flight over Unix sockets, calls/s", 0, |f| f.bulk[1].clone()),
        ("CPU per call over Unix sockets, us", 1, |f| f.bulk_cpu_us[1].clone()),
        ("binary, MB", 2, |_| Vec::new()),
    ];
    let names: Vec<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
    println!("| | {} | {} |", names.join(" | "), if names.len() > 1 { "ratio" } else { "" });
    println!("|---|{}---:|", "---:|".repeat(names.len()));
    for (label, digits, pick) in rows {
        let values: Vec<Option<f64>> = subjects
            .iter()
            .zip(figures)
            .map(|(subject, figures)| {
                if label.starts_with("binary") {
                    subject.binary_megabytes()
                } else {
                    Some(median(&mut pick(figures)))
                }
            })
            .collect();
        let cells: Vec<String> = values
            .iter()
            .map(|value| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}")))
            .collect();
        let ratio = match values.as_slice() {
            [Some(ours), Some(theirs), ..] if label.ends_with("calls/s") => format!("{:.1}x", ours / theirs),
            [Some(ours), Some(theirs), ..] => format!("{:.1}x", theirs / ours),
            _ => String::new(),
        };
        println!("| {label} | {} | {ratio} |", cells.join(" | "));
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

fn quantile(values: &mut [f64], at: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values[(last as f64 * at).round() as usize]
}
