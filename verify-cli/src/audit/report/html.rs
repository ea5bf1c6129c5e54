//! The report as one page for a browser: no request leaves it, and no value of a receipt is ever markup.

use crate::audit::escape::{brief, write_script_json, write_xml};
use crate::audit::limits::MAX_LISTED_RECEIPTS;
use crate::audit::summary::{Summary, grouped};
use kaval_receipt::Outcome;
use std::io::Write as _;

/// What follows the rows.
pub(super) const AFTER_ROWS: &str =
    concat!("]</script>\n<script>\n", include_str!("page.js"), "</script>\n</body>\n</html>\n");

const HEAD: &str = concat!(
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; ",
    "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
    "<meta name=\"referrer\" content=\"no-referrer\">\n<title>Receipt audit</title>\n<style>\n",
    include_str!("page.css"),
    "</style>\n</head>\n<body>\n"
);

const TABLE: &str = r#"<section class="card" id="receipts" aria-labelledby="receipts-title">
<h2 id="receipts-title">Receipts</h2>
<noscript><p>Without scripts this page shows the totals only. The rows are at the end of its source.</p></noscript>
<div id="live" hidden>
<div class="controls">
<label class="grow">Find in ids, files, keys, digests and details <input id="find" type="search" autocomplete="off" spellcheck="false"></label>
<label>Outcome <select id="outcome">@OPTIONS@</select></label>
<label>Rows a page <select id="size"><option>25</option><option selected>50</option><option>100</option><option>500</option></select></label>
</div>
<table id="table">
<caption class="visually-hidden">One row a receipt, in the order of the input</caption>
<thead><tr><th scope="col">Outcome</th><th scope="col">Receipt</th><th scope="col">States</th><th scope="col">Where</th></tr></thead>
<tbody id="body"></tbody>
</table>
<p id="none" class="soft" hidden>No receipt matches.</p>
<div class="pager">
<span id="status" class="soft grow" role="status"></span>
<button type="button" id="first">First</button><button type="button" id="previous">Previous</button>
<span id="page"></span>
<button type="button" id="next">Next</button><button type="button" id="last">Last</button>
</div>
<div id="paper">
<p id="paper-note" class="soft"></p>
<table>
<caption class="visually-hidden">Receipts on paper</caption>
<thead><tr><th scope="col">Outcome</th><th scope="col">Receipt</th><th scope="col">States</th><th scope="col">Where</th></tr></thead>
<tbody id="paper-body"></tbody>
</table>
</div>
</div>
</section>
</main>
<footer class="soft">Made by receipt-verify @VERSION@. Everything is in this file; it opens no connection.</footer>
"#;

/// Appends what precedes the rows, which includes the totals.
pub(super) fn write_before_rows(out: &mut Vec<u8>, summary: &Summary) {
    out.extend_from_slice(HEAD.as_bytes());
    write_header(out, summary);
    write_chart(out, summary);
    write_coverage(out, summary);
    let mut options =
        b"<option value=\"\">All</option><option value=\"attention\">Needing attention</option>".to_vec();
    for (outcome, count) in summary.outcomes() {
        // Writing to a vector does not fail; the results of `write!` say nothing here.
        let (code, count) = (outcome.code(), grouped(count));
        let _ = write!(options, "<option value=\"{}\">{code} ({count})</option>", outcome.index());
    }
    let table = TABLE
        .replace("@OPTIONS@", &String::from_utf8_lossy(&options))
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    out.extend_from_slice(table.as_bytes());
    out.extend_from_slice(b"<script type=\"application/json\" id=\"outcomes\">[");
    for outcome in Outcome::ALL {
        if outcome.index() > 0 {
            out.push(b',');
        }
        let _ = write!(
            out,
            "{{\"code\":\"{}\",\"exit_code\":{},\"meaning\":",
            outcome.code(),
            outcome.exit_code()
        );
        write_script_json(out, meaning(outcome));
        out.push(b'}');
    }
    out.extend_from_slice(b"]</script>\n<script type=\"application/json\" id=\"rows\">[[]");
}

fn write_header(out: &mut Vec<u8>, summary: &Summary) {
    let (total, attention, exit_code) = (summary.counts.total(), summary.attention(), summary.exit_code());
    out.extend_from_slice(
        b"<header class=\"top\"><div><h1>Receipt audit</h1><p class=\"soft\">Evaluated at ",
    );
    write_xml(out, &summary.at);
    out.extend_from_slice(
        b"</p></div><label class=\"soft theme\">Colours <select id=\"theme\"><option value=\"auto\">Auto</option>\
          <option value=\"light\">Light</option><option value=\"dark\">Dark</option></select></label></header>\n<main>\n",
    );
    let headline = match (total, attention) {
        (0, _) => "There was no receipt in the input".to_owned(),
        (1, 0) => "The one receipt is accepted".to_owned(),
        (_, 0) => format!("All {} receipts are accepted", grouped(total)),
        (_, 1) => format!("1 of {} receipts needs attention", grouped(total)),
        _ => format!("{} of {} receipts need attention", grouped(attention), grouped(total)),
    };
    let mark = if exit_code == 0 { "✓" } else { "✗" };
    let worst = match exit_code {
        0 => "everything asked for holds",
        1 => "at worst, a receipt is forged or contradicts itself",
        3 => "at worst, a key is unknown or not trusted",
        4 => "at worst, a receipt is not fresh",
        5 => "at worst, a receipt is authentic but not what was required",
        _ => "at worst, something could not be checked",
    };
    let completeness = match &summary.completeness {
        None => "",
        Some(completeness) if completeness.is_complete() => " Every expected id is there, and no other.",
        Some(_) => " The ids are not those expected.",
    };
    let _ = writeln!(
        out,
        "<section class=\"card verdict code-{exit_code}\"><span class=\"mark\" aria-hidden=\"true\">{mark}</span>\
         <div><strong>{headline}</strong><span class=\"soft\">Exit code {exit_code}: {worst}.{completeness}</span></div></section>"
    );
}

/// The totals as bars. Each bar has its word and its number beside it, so that neither colour nor length has to
/// be seen.
fn write_chart(out: &mut Vec<u8>, summary: &Summary) {
    let total = summary.counts.total().max(1);
    out.extend_from_slice(
        b"<section class=\"card\" aria-labelledby=\"totals\"><h2 id=\"totals\">Totals</h2>\n<table class=\"chart\">\
          <caption class=\"visually-hidden\">Receipts per outcome</caption><thead class=\"visually-hidden\"><tr>\
          <th scope=\"col\">Outcome</th><th scope=\"col\">Receipts</th><th scope=\"col\">Share</th></tr></thead><tbody>\n",
    );
    for (outcome, count) in summary.outcomes() {
        let mark = if outcome == Outcome::Accepted { "✓" } else { "✗" };
        let (code, exit_code, index) = (outcome.code(), outcome.exit_code(), outcome.index());
        // In tenths of a percent, never nothing where there is something, and all only where it is all.
        let share = (count.saturating_mul(1000) + total / 2) / total;
        let share = if count < total { share.min(999) } else { share };
        let width = share.max(4);
        let share = match share {
            0 => "under 0.1 %".to_owned(),
            share => format!("{}.{} %", share / 10, share % 10),
        };
        let _ = writeln!(
            out,
            "<tr class=\"code-{exit_code}\"><th scope=\"row\"><button type=\"button\" class=\"open outcome\" \
             data-outcome=\"{index}\" title=\"Show these\">{mark} {code}</button></th>\
             <td class=\"count\">{} <span class=\"soft\">{share}</span></td><td class=\"bar\">\
             <svg viewBox=\"0 0 1000 14\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
             <rect class=\"track\" width=\"1000\" height=\"14\"/>\
             <rect class=\"fill\" width=\"{width}\" height=\"14\"/></svg></td></tr>",
            grouped(count)
        );
    }
    out.extend_from_slice(b"</tbody></table></section>\n");
}

fn write_coverage(out: &mut Vec<u8>, summary: &Summary) {
    out.extend_from_slice(
        b"<section class=\"card\" aria-labelledby=\"coverage\"><h2 id=\"coverage\">Coverage</h2>\n<ul class=\"coverage\">\n",
    );
    out.extend_from_slice(b"<li>Checked with ");
    write_xml(out, &summary.keys);
    out.extend_from_slice(b"</li>\n");
    for words in &summary.not_checked {
        out.extend_from_slice(b"<li>");
        write_xml(out, words);
        out.extend_from_slice(b"</li>\n");
    }
    for (name, count) in summary.passed_by() {
        let words = match (name, count) {
            ("ignored_files", 1) => "file not named as a receipt was ignored",
            ("ignored_files", _) => "files not named as receipts were ignored",
            (_, 1) => "link to a folder was not entered",
            _ => "links to folders were not entered",
        };
        let _ = writeln!(out, "<li>{} {words}</li>", grouped(count));
    }
    if let Some(completeness) = &summary.completeness {
        let _ = writeln!(out, "<li>{} expected ids</li>", grouped(completeness.expected));
        for (kind, listed) in completeness.kinds() {
            let _ = write!(out, "<li>{} {kind}", grouped(listed.count));
            let (first, left) = listed.shown(MAX_LISTED_RECEIPTS);
            if !first.is_empty() {
                out.extend_from_slice(b"<ul class=\"ids\" tabindex=\"0\">");
                for id in first {
                    out.extend_from_slice(b"<li><bdi class=\"mono\">");
                    write_xml(out, &brief(&id.to_display_string()));
                    out.extend_from_slice(b"</bdi></li>");
                }
                if left > 0 {
                    let _ = write!(out, "<li>and {} more</li>", grouped(left));
                }
                out.extend_from_slice(b"</ul>");
            }
            out.extend_from_slice(b"</li>\n");
        }
        if completeness.without_id > 0 {
            let _ = writeln!(
                out,
                "<li>{} receipts in which no id could be read</li>",
                grouped(completeness.without_id)
            );
        }
    }
    out.extend_from_slice(b"</ul></section>\n");
}

/// An outcome in a sentence.
fn meaning(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Unreadable => "it could not be read, so nothing is known about it",
        Outcome::Malformed => "it is not a receipt, or its signature block is broken",
        Outcome::KeysMalformed => "the key document cannot be used",
        Outcome::KeyUnknown => "the keys at hand do not include the one it names",
        Outcome::SignatureInvalid => "its bytes are not what that key signed: changed, or forged",
        Outcome::KeyUntrusted => "the key that signed it is not to be trusted",
        Outcome::NotDerivable => "authentic, but whether the verdict follows from the facts cannot be told",
        Outcome::VerdictMismatch => "authentic, but its verdict does not follow from its own facts",
        Outcome::NotFresh => "authentic, but not fresh at the time of evaluation",
        Outcome::ActionMismatch => "authentic, but about another action than expected",
        Outcome::DecisionRefused => "authentic, but its decision is not one that was required",
        Outcome::Accepted => "everything that was asked for holds",
    }
}
