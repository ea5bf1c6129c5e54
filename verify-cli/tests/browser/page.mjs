// Opens audit pages in a headless Chromium and uses them as a reader would.
//
// Environment: RECEIPT_VERIFY and RECEIPT_MILL, paths of the binaries; CHROMIUM, path of the browser; SHOTS, a
// folder for screenshots, optional. Prints "N passed, N failed" last and exits 1 if a check failed.

import { chromium } from "playwright-core";
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const need = (name) => process.env[name] ?? assert.fail(`${name} is not set`);
const verify = need("RECEIPT_VERIFY"), mill = need("RECEIPT_MILL");
const shots = process.env.SHOTS;
const room = mkdtempSync(join(tmpdir(), "audit-page-"));

const make = (name, count, extra = []) => {
  const input = join(room, `${name}.jsonl`), page = join(room, `${name}.html`);
  writeFileSync(input, execFileSync(mill, ["mixed", String(count)], { maxBuffer: 1 << 30 }));
  const run = spawnSync(verify, ["audit", input, "--keyset", keyset, "--format", "html", "--output", page,
    "--at", "2026-08-01T10:00:00Z", "--quiet", ...extra]);
  assert.ok([0, 1, 2, 3, 5].includes(run.status), run.stderr.toString());
  return pathToFileURL(page).href;
};
const keyset = join(room, "keys.json");
writeFileSync(keyset, execFileSync(mill, ["keyset"]));
const ids = join(room, "ids.txt");
writeFileSync(ids, "0f6a4b1e-6c0d-4c58-9a53-000000000001\nan-id-<b>nobody</b>-has\n");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
let passed = 0, failed = 0;
const check = async (name, url, options, test) => {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  const outside = [], errors = [];
  page.on("request", (request) => { if (request.url() !== url) outside.push(request.url()); });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error") errors.push(message.text()); });
  page.on("dialog", (dialog) => { errors.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
  try {
    await page.goto(url);
    await test(page);
    assert.deepEqual(outside, [], "requests");
    assert.deepEqual(errors, [], "errors");
    passed += 1;
    console.log(`ok   ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}\n     ${String(error.message).split("\n").join("\n     ")}`);
  }
  await context.close();
};
const shot = async (page, name, options = {}) => {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`), ...options });
};
const rows = (page) => page.locator("#body tr.row");
const status = (page) => page.locator("#status").textContent();
const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

const small = make("small", 400, ["--expect-ids", ids]);
await check("totals are shown in words and bars", small, {}, async (page) => {
  assert.match(await page.locator(".verdict").textContent(), /32 of 400 receipts need attention/);
  const chart = await page.locator(".chart tbody tr").allTextContents();
  assert.equal(chart.length, 5);
  assert.match(chart.join("\n"), /accepted\s*368 92\.0 %/);
  assert.match(chart.join("\n"), /signature_invalid\s*8 2\.0 %/);
  assert.match(await page.locator("section:has(#coverage)").textContent(), /1 missing.*an-id-<b>nobody<\/b>-has/s);
  await shot(page, "light", { fullPage: true });
});
await check("the table has its rows in order and pages through them", small, {}, async (page) => {
  assert.equal(await rows(page).count(), 50);
  assert.equal(await status(page), "1 to 50 of 400 receipts");
  assert.match(await rows(page).nth(7).textContent(), /✗ signature_invalid.*small\.jsonl:8/s);
  assert.equal(await page.locator("#previous").isDisabled(), true);
  await page.locator("#next").click();
  assert.equal(await status(page), "51 to 100 of 400 receipts");
  await page.locator("#last").click();
  assert.equal(await status(page), "351 to 400 of 400 receipts");
  assert.equal(await page.locator("#next").isDisabled(), true);
  await page.locator("#first").click();
  await page.locator("#size").selectOption("500");
  assert.equal(await rows(page).count(), 400);
});
await check("finding narrows the rows, by every word", small, {}, async (page) => {
  await page.locator("#find").fill("small.jsonl:27 000000000");
  await page.waitForFunction(() => document.querySelectorAll("#body tr.row").length < 50);
  assert.match(await status(page), /^1 to \d+ of \d+ matching, 400 in all$/);
  await page.locator("#find").fill("A-KEY-NOBODY-KNOWS");
  await page.waitForFunction(() => document.querySelector("#status").textContent.startsWith("1 to 8 of 8"));
  await page.locator("#find").fill("no such thing");
  await page.waitForFunction(() => document.querySelectorAll("#body tr.row").length === 0);
  assert.equal(await page.locator("#none").isVisible(), true);
});
await check("outcomes filter, from the list and from the chart", small, {}, async (page) => {
  await page.locator("#outcome").selectOption("attention");
  assert.equal(await rows(page).count(), 32);
  await page.locator(".chart button", { hasText: "verdict_mismatch" }).click();
  assert.equal(await rows(page).count(), 8);
  assert.match(await rows(page).first().textContent(), /✗ verdict_mismatch/);
});
await check("details open and close from the keyboard, and values stay text", small, {}, async (page) => {
  await page.locator("#outcome").selectOption({ label: "verdict_mismatch (8)" });
  const open = page.locator("#body button.open").first();
  assert.equal(await open.textContent(), "<b>37</b> & \"quoted\" \\u202e");
  await open.focus();
  await page.keyboard.press("Enter");
  const detail = page.locator("#detail");
  assert.match(await detail.textContent(), /does not follow from its own facts/);
  assert.match(await detail.textContent(), /sha256:[0-9a-f]{64}/);
  assert.match(await detail.textContent(), /sed -n 38p -- '.*small\.jsonl' \| receipt-verify verify - --keyset FILE/);
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-expanded")), "true");
  assert.equal(await page.locator("#body b").count(), 0);
  await shot(page, "detail");
  await page.keyboard.press("Enter");
  assert.equal(await detail.count(), 0);
});
await check("the system's dark mode is followed, and can be overruled", small, { colorScheme: "dark" }, async (page) => {
  assert.equal(await background(page), "rgb(18, 21, 26)");
  await shot(page, "dark", { fullPage: true });
  await page.locator("#theme").selectOption("light");
  assert.equal(await background(page), "rgb(246, 247, 249)");
  await page.locator("#theme").selectOption("dark");
  assert.equal(await background(page), "rgb(18, 21, 26)");
});
await check("text has contrast in both modes", small, {}, async (page) => {
  for (const theme of ["light", "dark"]) {
    await page.locator("#theme").selectOption(theme);
    const ratios = await page.evaluate(() => {
      const parts = (color) => color.match(/[\d.]+/g).map(Number);
      const luminance = (color) => {
        const [r, g, b] = parts(color).map((part) => part / 255)
          .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
          const color = getComputedStyle(at).backgroundColor;
          if ((parts(color)[3] ?? 1) > 0) return color;
        }
        return "rgb(255, 255, 255)";
      };
      return [...document.querySelectorAll("h1, h2, p, .soft, .outcome, .open, th, td, label, li")].map((element) => {
        const [one, two] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
        return [(Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05), element.outerHTML.slice(0, 80)];
      });
    });
    assert.ok(ratios.length > 50);
    assert.deepEqual(ratios.filter(([ratio]) => ratio < 4.5), [], theme);
  }
});
await check("every control has a name and every table a caption", small, {}, async (page) => {
  const nameless = await page.evaluate(() => [
    ...[...document.querySelectorAll("input, select")].filter((element) => element.labels.length === 0),
    ...[...document.querySelectorAll("button")].filter((element) => element.textContent.trim() === ""),
    ...[...document.querySelectorAll("table")].filter((element) => !element.caption),
    ...[...document.querySelectorAll("section")].filter((element) => !element.matches(".verdict, [aria-labelledby]")),
  ].map((element) => element.outerHTML.slice(0, 80)));
  assert.deepEqual(nameless, []);
});
await check("paper gets totals and rows, and no controls", small, {}, async (page) => {
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator("#paper-body tr").count(), 400);
  assert.equal(await page.locator(".controls").isVisible(), false);
  assert.equal(await page.locator("#table").isVisible(), false);
  assert.equal(await page.locator(".chart").isVisible(), true);
  assert.match(await page.locator("#paper-note").textContent(), /all receipts, 400 of 400/);
  await shot(page, "paper");
  const pdf = await page.pdf({ format: "A4" });
  assert.ok(pdf.length > 20_000, `${pdf.length} bytes`);
});
await check("a narrow window does not scroll sideways", small, { viewport: { width: 380, height: 800 } }, async (page) => {
  const [width, window_] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(width <= window_, `${width} > ${window_}`);
  await shot(page, "narrow");
});
await check("without scripts the totals remain", small, { javaScriptEnabled: false }, async (page) => {
  assert.match(await page.locator("main").textContent(), /368/);
  assert.equal(await page.locator("noscript").isVisible(), true);
});

const large = make("large", 120_000);
await check("120,000 receipts open, filter and print where attention is needed", large, {}, async (page) => {
  assert.equal(await status(page), "1 to 50 of 120,000 receipts");
  const started = Date.now();
  await page.locator("#find").fill("large.jsonl:119999");
  await page.waitForFunction(() => document.querySelector("#status").textContent.includes("of 1 matching"));
  const took = Date.now() - started;
  assert.ok(took < 5_000, `finding took ${took} ms`);
  await page.locator("#find").fill("");
  await page.waitForFunction(() => document.querySelector("#status").textContent.includes("of 120,000"));
  await page.locator("#last").click();
  assert.match(await rows(page).last().textContent(), /large\.jsonl:120000/);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.match(await page.locator("#paper-note").textContent(),
    /need attention, 2,000 of 9,600; the other 7,600 are in the file/);
});

await browser.close();
rmSync(room, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
