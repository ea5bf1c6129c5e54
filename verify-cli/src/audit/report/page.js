"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const outcomes = read("outcomes");
  const rows = [];
  for (const [source, members] of read("rows").slice(1)) {
    for (const row of members) rows.push([source, row]);
  }
  document.getElementById("rows").remove();

  // Positions inside a row.
  const OUTCOME = 0, LINE = 1, ID = 2, DECISION = 3, KEY = 4, DIGEST = 5, DETAIL = 6;
  // On paper, more rows than this help nobody; the note above them says what was left out.
  const MOST_PRINTED = 2000;
  // A report with up to this many receipts is printed whole; a larger one only where attention is needed.
  const PRINTED_WHOLE = 500;

  const byId = (id) => document.getElementById(id);
  const number = (count) => count.toLocaleString("en");
  const hidden = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
  const visible = (text) =>
    text.replace(hidden, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
  const place = ([source, row]) => source + (row[LINE] ? ":" + row[LINE] : "");
  const isAccepted = ([, row]) => outcomes[row[OUTCOME]].exit_code === 0;

  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  // Text from a receipt, which must not reorder what stands around it.
  const quoted = (tag, className, text) => {
    const element = make(tag, className);
    element.append(text ? make("bdi", "", visible(text)) : make("span", "unset", "none"));
    return element;
  };
  const outcomeCell = (row) => {
    const { code, exit_code: exitCode } = outcomes[row[OUTCOME]];
    const cell = make("td");
    cell.append(make("span", `outcome code-${exitCode}`, `${exitCode === 0 ? "✓" : "✗"} ${code}`));
    return cell;
  };

  // Filtering.
  const state = { page: 0, open: -1, matches: [] };
  const controls = { find: byId("find"), outcome: byId("outcome"), size: byId("size") };

  const filter = () => {
    const words = controls.find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = controls.outcome.value;
    state.matches = [];
    for (let index = 0; index < rows.length; index += 1) {
      const [source, row] = rows[index];
      if (wanted === "attention" && isAccepted(rows[index])) continue;
      if (wanted !== "" && wanted !== "attention" && String(row[OUTCOME]) !== wanted) continue;
      if (words.length > 0) {
        const text = [place([source, row]), row[ID], row[DECISION], row[KEY], row[DIGEST], row[DETAIL]]
          .filter(Boolean).join("\n").toLowerCase();
        if (!words.every((word) => text.includes(word))) continue;
      }
      state.matches.push(index);
    }
    state.page = 0;
    state.open = -1;
    draw();
  };

  // Details of one receipt.
  const shell = (text) => "'" + text.replace(/'/g, "'\\''") + "'";
  const again = (source, line) => {
    hidden.lastIndex = 0;
    if (source === "-" || hidden.test(source)) return null;
    const unpack = /\.gz$/i.test(source) ? "gzip -dc" : null;
    if (!line) {
      return unpack
        ? `${unpack} -- ${shell(source)} | receipt-verify verify - --keyset FILE`
        : `receipt-verify verify ${shell(source)} --keyset FILE`;
    }
    const from = unpack ? `${unpack} -- ${shell(source)} | sed -n ${line}p` : `sed -n ${line}p -- ${shell(source)}`;
    return `${from} | receipt-verify verify - --keyset FILE`;
  };
  const detailRow = (index) => {
    const [source, row] = rows[index];
    const list = make("dl");
    const add = (name, value, className) => list.append(make("dt", "", name), quoted("dd", className, value));
    add("Outcome", `${outcomes[row[OUTCOME]].code}: ${outcomes[row[OUTCOME]].meaning}`);
    if (row[DETAIL]) add("Detail", row[DETAIL]);
    add("Receipt", row[ID] || "");
    add("States", row[DECISION] || "");
    add("Key", row[KEY] || "");
    add("Digest", row[DIGEST], "mono");
    add("File", source, "mono");
    if (row[LINE]) add("Line", number(row[LINE]));
    const command = again(source, row[LINE]);
    if (command) add("Check again", command, "mono");
    const cell = make("td");
    cell.colSpan = 4;
    cell.append(list);
    const detail = make("tr", "detail");
    detail.id = "detail";
    detail.append(cell);
    return detail;
  };

  // The page of the table in view.
  const draw = () => {
    const size = Number(controls.size.value);
    const pages = Math.max(1, Math.ceil(state.matches.length / size));
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const body = byId("body");
    const shown = state.matches.slice(state.page * size, (state.page + 1) * size);
    const elements = [];
    for (const index of shown) {
      const [, row] = rows[index];
      const isOpen = state.open === index;
      const element = make("tr", "row");
      const open = make("button", "open");
      open.type = "button";
      open.dataset.index = index;
      open.setAttribute("aria-expanded", String(isOpen));
      if (isOpen) open.setAttribute("aria-controls", "detail");
      open.append(make("bdi", "", visible(row[ID] || place(rows[index]))));
      const receipt = make("td");
      receipt.append(open);
      if (row[DETAIL]) receipt.append(quoted("div", "soft", row[DETAIL]));
      element.append(outcomeCell(row), receipt, quoted("td", "", row[DECISION] || ""), quoted("td", "mono", place(rows[index])));
      elements.push(element);
      if (isOpen) elements.push(detailRow(index));
    }
    body.replaceChildren(...elements);
    byId("none").hidden = shown.length > 0;
    const first = state.page * size + 1;
    byId("status").textContent = state.matches.length === 0
      ? `none of ${number(rows.length)} receipts`
      : `${number(first)} to ${number(first + shown.length - 1)} of ${number(state.matches.length)}` +
        (state.matches.length === rows.length ? " receipts" : ` matching, ${number(rows.length)} in all`);
    byId("page").textContent = `Page ${number(state.page + 1)} of ${number(pages)}`;
    byId("first").disabled = byId("previous").disabled = state.page === 0;
    byId("last").disabled = byId("next").disabled = state.page === pages - 1;
  };

  byId("body").addEventListener("click", (event) => {
    const open = event.target.closest("button.open");
    if (!open) return;
    const index = Number(open.dataset.index);
    state.open = state.open === index ? -1 : index;
    draw();
    byId("body").querySelector(`button.open[data-index="${index}"]`).focus();
  });
  const turn = (id, to) => byId(id).addEventListener("click", () => {
    state.page = to(state.page);
    state.open = -1;
    draw();
  });
  turn("first", () => 0);
  turn("previous", (page) => page - 1);
  turn("next", (page) => page + 1);
  turn("last", () => Number.MAX_SAFE_INTEGER);
  let typing;
  controls.find.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(filter, 120);
  });
  controls.outcome.addEventListener("change", filter);
  controls.size.addEventListener("change", () => { state.page = 0; draw(); });
  for (const button of document.querySelectorAll("button[data-outcome]")) {
    button.addEventListener("click", () => {
      controls.outcome.value = button.dataset.outcome;
      filter();
      byId("receipts").scrollIntoView();
    });
  }

  // What goes on paper: the rows of the filter, or those needing attention when there are very many.
  const print = () => {
    let chosen = state.matches;
    let what = chosen.length === rows.length ? "all receipts" : "the receipts matching the filter";
    if (chosen.length > PRINTED_WHOLE && chosen.length === rows.length) {
      chosen = chosen.filter((index) => !isAccepted(rows[index]));
      what = "the receipts that need attention";
    }
    const printed = chosen.slice(0, MOST_PRINTED);
    const left = chosen.length - printed.length;
    byId("paper-note").textContent = `On paper: ${what}, ${number(printed.length)} of ${number(chosen.length)}` +
      (left > 0 ? `; the other ${number(left)} are in the file of this page only.` : ".");
    byId("paper-body").replaceChildren(...printed.map((index) => {
      const [, row] = rows[index];
      const element = make("tr");
      const receipt = quoted("td", "", row[ID] || "");
      if (row[DETAIL]) receipt.append(quoted("div", "soft", row[DETAIL]));
      element.append(outcomeCell(row), receipt, quoted("td", "", row[DECISION] || ""), quoted("td", "mono", place(rows[index])));
      return element;
    }));
  };
  addEventListener("beforeprint", print);
  addEventListener("afterprint", () => byId("paper-body").replaceChildren());

  // Light, dark, or as the system has it. Storage can be refused to a page opened from a file.
  const theme = byId("theme");
  const setTheme = (name) => {
    if (name === "light" || name === "dark") document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
    theme.value = name;
  };
  try { setTheme(localStorage.getItem("receipt-audit-theme") || "auto"); } catch { setTheme("auto"); }
  theme.addEventListener("change", () => {
    setTheme(theme.value);
    try { localStorage.setItem("receipt-audit-theme", theme.value); } catch { /* then it lasts as long as the page */ }
  });

  byId("live").hidden = false;
  filter();
})();
