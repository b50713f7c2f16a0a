// The page of `report` in a browser: it loads nothing, runs nothing from records, and can be read at any width, in
// light and dark, by keyboard, and without scripts.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { lines } from "./data.mjs";

const { EMPIRICA_PROGRAM: program, EMPIRICA_BROWSER: browserPath, EMPIRICA_KEPT: kept } = process.env;
const LONG = Boolean(process.env.EMPIRICA_TEST_LONG);
const require = createRequire(path.join(kept, "node", "package.json"));
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const NOW = "2026-03-01T12:00:00.000Z", UNTIL = Date.parse("2026-03-01T11:00:00Z");
const WIDTHS = [360, 1440], SCHEMES = ["light", "dark"];
const HOSTILE = ["<script>window.pwned=1</script>", '"><img src=x onerror="window.pwned=1">', "javascript:window.pwned=1//",
  "</style></svg></title></script><script>window.pwned=1</script>", "' onmouseover='window.pwned=1' x='", "{{ 7*7 }}{% raw %}",
  "]]><!--<svg onload=window.pwned=1>", "&lt;script&gt;window.pwned=1&lt;/script&gt;", "\u202etxt.exe\u0000\u001b[31m\u2028x", "W".repeat(300)];

const home = path.join(kept, "home"), looks = path.join(kept, "looks");
for (const folder of ["home", "looks", "places"]) {
  fs.rmSync(path.join(kept, folder), { recursive: true, force: true });
  fs.mkdirSync(path.join(kept, folder), { recursive: true });
}
const env = { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: "1", EMPIRICA_NOW: NOW, TZ: "UTC", LANG: "C.UTF-8",
  GIT_AUTHOR_DATE: "2026-02-01T11:00:00Z", GIT_COMMITTER_DATE: "2026-02-01T11:00:00Z" };

/** A repository with so many sessions, and its page. */
function place(name, count, hostile = []) {
  const folder = path.join(kept, "places", name);
  fs.mkdirSync(folder);
  const run = (command, ...given) => execFileSync(command, given, { cwd: folder, env, encoding: "utf8", maxBuffer: 1 << 28 }).trim();
  run("git", "init", "-q", "-b", "main");
  run("git", "config", "user.name", "Test");
  run("git", "config", "user.email", "test@example.com");
  const subjects = ["Add login", "Cache tokens", "Batch the ledger", "Read the version first", "Sort by number", ...hostile.slice(0, 2)];
  const commits = subjects.map(subject => {
    run("git", "commit", "-q", "--allow-empty", "-m", subject);
    return run("git", "rev-parse", "HEAD");
  });
  if (count > 0) {
    fs.writeFileSync(path.join(folder, "records.jsonl"), lines(count, commits, { until: UNTIL, hostile }));
    run(program, "import", "--jsonl", "records.jsonl");
  }
  const page = path.join(folder, "report.html"), began = Date.now();
  const told = JSON.parse(run(program, "report", "--html", page, "--json"));
  assert.equal(told.sessions, count);
  assert.equal(told.bytes, fs.statSync(page).size);
  console.log(`${name}: ${count} sessions, ${told.bytes} bytes, ${Date.now() - began} ms`);
  return { name, url: pathToFileURL(page).href, told };
}

/** Opens a page in a window of its own; whatever it must not do fails the test when it is closed. */
async function open(browser, { url }, { width = 1440, scheme = "light", script = true, media } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme, javaScriptEnabled: script, reducedMotion: media });
  const page = await context.newPage(), wrong = [];
  page.on("request", request => { if (request.url().split("#")[0] !== url) wrong.push(`it asked for ${request.url()}`); });
  page.on("console", message => { if (["error", "warning"].includes(message.type())) wrong.push(`console: ${message.text()}`); });
  page.on("pageerror", error => wrong.push(`error: ${error.message}`));
  page.on("dialog", dialog => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  await page.goto(url);
  return { page, close: async () => { await context.close(); assert.deepEqual(wrong, []); } };
}

/** What sticks out of the window, but in boxes that scroll. */
function outside() {
  const wide = document.scrollingElement.scrollWidth - innerWidth, out = [];
  if (wide > 0) out.push(`the page is ${wide} pixels too wide`);
  for (const element of document.querySelectorAll("body *")) {
    if (element.closest(".scroll, .skip, svg") && !element.matches(".scroll")) continue;
    const box = element.getBoundingClientRect();
    if (box.width && (box.right > innerWidth + 0.5 || box.left < -0.5)) out.push(`${element.tagName} ${element.className} ends at ${Math.round(box.right)}: ${element.textContent.slice(0, 60)}`);
  }
  return out.slice(0, 5);
}

/** Texts that lie on each other, or stick out of what holds them: each line of text has a box, cut to what scrolls or hides it. */
function overlapping() {
  const boxes = [], out = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("script, style, title, desc, .skip") || !element.checkVisibility({ visibilityProperty: true })) continue;
    range.selectNodeContents(node);
    const holder = element.closest(".scroll")?.getBoundingClientRect();
    for (const { left, right, top, bottom, width, height } of range.getClientRects()) {
      // a box is higher than its letters
      const box = { left: left + 1, right: right - 1, top: top + height * 0.25, bottom: bottom - height * 0.25, text: node.data.trim().slice(0, 40) };
      if (holder) { box.left = Math.max(box.left, holder.left); box.right = Math.min(box.right, holder.right); }
      if (width > 2 && box.left < box.right) boxes.push(box);
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((a, at) => {
    for (let next = at + 1; next < boxes.length && boxes[next].top < a.bottom; next += 1) {
      const b = boxes[next];
      if (a.left < b.right && b.left < a.right && a.top < b.bottom) out.push(`"${a.text}" lies on "${b.text}" at ${Math.round(a.left)}, ${Math.round(a.top)}`);
    }
  });
  for (const group of document.querySelectorAll("svg g")) {
    const box = group.querySelector(":scope > rect.box, :scope > rect.bar"), text = group.querySelector(":scope > text");
    if (box && text && text.getBoundingClientRect().right > box.getBoundingClientRect().right) out.push(`"${text.textContent.slice(0, 40)}" sticks out of its box`);
  }
  for (const svg of document.querySelectorAll("svg")) {
    const { left, right } = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.width && (box.right > right + 1 || box.left < left - 1)) out.push(`"${text.textContent.slice(0, 40)}" sticks out of the picture`);
    }
  }
  return out.slice(0, 5);
}

async function accessible(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map(v => `${v.id}: ${v.nodes.length} times, ${v.nodes[0].html.slice(0, 160)}: ${v.nodes[0].failureSummary}`);
}

const openAll = most => {
  document.querySelectorAll("details.more").forEach(details => { details.open = true; });
  [...document.querySelectorAll("details.session")].slice(0, most).forEach(details => { details.open = true; });
};

const tests = {
  "it fits and can be read at every width, in light and dark": async (browser, place) => {
    for (const width of WIDTHS) for (const scheme of SCHEMES) {
      // of hundreds of sessions, and in the short form, each scheme at one width: more takes minutes and sees nearly the same
      if ((place.told.sessions >= 100 || !LONG) && (width === 360) !== (scheme === "dark")) continue;
      const { page, close } = await open(browser, place, { width, scheme });
      if (LONG) await page.screenshot({ path: path.join(looks, `${place.name}-${width}-${scheme}.png`), clip: { x: 0, y: 0, width, height: await page.evaluate(() => Math.min(document.body.scrollHeight, 6000)) }, fullPage: true });
      for (const opened of ["", ", opened"]) {
        if (opened) await page.evaluate(openAll, 5);
        for (const wrong of [outside, overlapping]) assert.deepEqual(await page.evaluate(wrong), [], `${width} ${scheme}${opened}`);
      }
      assert.deepEqual(await accessible(page), [], `${width} ${scheme}`);
      await close();
    }
  },
  "it can be read without a script": async (browser, place) => {
    for (const width of WIDTHS) {
      const { page, close } = await open(browser, place, { width, script: false });
      const seen = await page.locator("body").innerText();
      for (const text of ["Needs attention", "Sessions", "What is known", "Who worked when", "Calibration"]) {
        if (place.told.sessions) assert.ok(seen.includes(text), `${text} is not seen`);
      }
      for (const control of ["#filter", "#theme", "button", "input"]) {
        for (const found of await page.locator(control).all()) assert.equal(await found.isVisible(), false, `${control} does nothing without a script`);
      }
      const closed = page.locator("details.session:not([open]) > summary").first();
      if (place.told.sessions > 1) {
        await closed.click();
        assert.ok(await page.locator("details.session[open] .inside").nth(1).isVisible(), "a session opens");
      }
      await close();
    }
  },
  "all of it is reached by keyboard": async (browser, place) => {
    if (!place.told.sessions) return;
    const { page, close } = await open(browser, place, { width: 360 });
    const reached = new Set();
    for (let n = 0; n < 400; n += 1) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(() => {
        const element = document.activeElement, style = getComputedStyle(element);
        const shown = element.closest("svg") || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2);
        const name = element.id || element.className.baseVal || element.className || element.tagName;
        return { what: name.replace("short-timeline", "timeline"), tag: element.tagName, shown: Boolean(shown) };
      });
      if (at.tag === "BODY") break;
      assert.ok(at.shown, `the focus on ${at.what} is not seen`);
      reached.add(at.tag === "SUMMARY" ? `summary ${await page.evaluate(() => document.activeElement.parentElement.className)}` : at.what);
    }
    for (const wanted of ["skip", "filter", "theme", "scroll timeline-box", "scroll growth-box", "scroll graph-box", "summary session"]) {
      assert.ok(reached.has(wanted), `${wanted} is not reached: ${[...reached].join(", ")}`);
    }
    const session = await page.locator("details.session:not([open]) > summary").first().elementHandle();
    await session.focus();
    await page.keyboard.press("Enter");
    assert.ok(await session.evaluate(element => element.parentElement.open), "a session opens");
    await close();
  },
  "the filter leaves what fits and counts it": async (browser, place) => {
    if (!place.told.sessions) return;
    const { page, close } = await open(browser, place);
    const shown = () => page.evaluate(() => [...document.querySelectorAll("[data-entry]")].filter(entry => !entry.hidden).length);
    const all = await shown();
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "filter");
    const word = await page.evaluate(() => document.querySelector("details.session .who").textContent.toLowerCase().trim().split(/\s+/)[0]);
    await page.keyboard.type(word);
    const some = await shown();
    assert.ok(some > 0 && some <= all, `${some} of ${all}`);
    assert.equal(await page.locator("#count").innerText(), `${some} of ${all} shown`);
    assert.ok(await page.evaluate(word => [...document.querySelectorAll("[data-entry]")].every(entry => entry.hidden !== entry.textContent.toLowerCase().includes(word)), word));
    await page.locator("#filter").fill("no such word anywhere");
    assert.equal(await shown(), 0);
    assert.equal(await page.locator("#count").innerText(), `0 of ${all} shown`);
    await page.locator("#filter").press("Escape");
    assert.equal(await shown(), all);
    assert.equal(await page.locator("#count").innerText(), "");
    assert.equal(await page.locator("details.session[open]").count(), 1, "only what was open");
    await close();
  },
  "a handoff leads to the session that took it up, and the theme can be chosen": async (browser, place) => {
    if (!place.told.sessions) return;
    const { page, close } = await open(browser, place, { media: "reduce" });
    await page.evaluate(openAll, 20);
    const link = page.locator("details.session[open] a[href^='#s-']").first(), id = (await link.getAttribute("href")).slice(1);
    await link.click();
    await page.waitForFunction(id => document.getElementById(id).open, id);
    assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior), "auto", "nothing moves");
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await page.locator("#theme").click();
    assert.notEqual(await paper(), light);
    if (place.told.sessions < 100) assert.deepEqual(await accessible(page), []);
    await page.locator("#theme").click();
    assert.equal(await paper(), light);
    await close();
  },
  "a date is seen wherever the timeline is scrolled to": async (browser, place) => {
    if (!place.told.sessions) return;
    for (const width of WIDTHS) {
      const { page, close } = await open(browser, place, { width });
      const bare = await page.evaluate(() => {
        const box = document.querySelector(".timeline-box, .short-timeline-box"), out = [];
        const most = box.scrollWidth - box.clientWidth, way = getComputedStyle(box).direction === "rtl" ? -1 : 1;
        for (let at = 0; at <= most; at += 40) {
          box.scrollLeft = way * at;
          const { left, right } = box.getBoundingClientRect();
          const seen = [...box.querySelectorAll(".date")].map(date => date.getBoundingClientRect()).some(date => date.right > left + 20 && date.left < right - 20);
          if (!seen) out.push(at);
        }
        return out;
      });
      assert.deepEqual(bare, [], `${width}`);
      await close();
    }
  },
  "what a record says stays text": async (browser, place) => {
    for (const script of [true, false]) {
      const { page, close } = await open(browser, place, { script });
      if (script) {
        await page.evaluate(openAll, 100);
        await page.evaluate(() => document.querySelectorAll("svg g").forEach(element => element.dispatchEvent(new MouseEvent("mouseenter"))));
      }
      assert.equal(await page.evaluate(() => window.pwned), undefined, "a record ran");
      const strange = await page.evaluate(() => ({
        elements: [...document.querySelectorAll("img, iframe, object, embed, link, base, form, video, audio, image, use, foreignObject, style ~ style, script ~ script")].map(e => e.outerHTML.slice(0, 80)),
        scripts: document.scripts.length,
        attributes: [...document.querySelectorAll("*")].flatMap(e => [...e.attributes].filter(a => /^on/i.test(a.name) || a.name === "style" || (/href|src|action/i.test(a.name) && !/^#[a-z0-9-]+$/.test(a.value))).map(a => `${e.tagName} ${a.name}=${a.value}`)),
        tricks: /[\u0000-\u0008\u000b-\u001f\u007f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/.test(document.documentElement.outerHTML),
        twice: [...document.querySelectorAll("[id]")].map(e => e.id).filter((id, at, ids) => ids.indexOf(id) !== at),
      }));
      assert.deepEqual(strange, { elements: [], scripts: place.told.sessions ? 1 : 0, attributes: [], tricks: false, twice: [] });
      if (place.name === "hostile") {
        const text = await page.evaluate(() => document.body.textContent);
        for (const said of HOSTILE.slice(0, 5)) assert.ok(text.includes(said), `${said} is not there as text`);
      }
      await close();
    }
  },
};

// what a small page shows a hostile one shows, too
const places = [place("empty", 0), ...(LONG ? [place("small", 5)] : []), place("hostile", 9, HOSTILE), place("large", LONG ? 500 : 40)];
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath: browserPath, headless: true, args: flags });
let failed = 0;
try {
  for (const [name, test] of Object.entries(tests)) for (const place of places) {
    const began = Date.now();
    try {
      await test(browser, place);
      console.log(`ok      ${place.name}: ${name} (${Date.now() - began} ms)`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${place.name}: ${name}\n${error.stack}`);
    }
  }
} finally {
  await browser.close();
}
console.log(failed ? `${failed} failed` : "all passed");
process.exitCode = failed ? 1 : 0;
