"use strict";
(() => {
  const root = document.documentElement, all = (what, from = document) => [...from.querySelectorAll(what)];
  root.classList.add("script");

  // the filter
  const box = document.getElementById("filter"), count = document.getElementById("count");
  const entries = all("[data-entry]").map(element => ({
    element,
    text: element.textContent.toLowerCase(),
    lines: all("[data-line]", element).map(line => ({ line, text: line.textContent.toLowerCase() })),
    wasOpen: element.open,
  }));
  const lists = all("[data-list]"), folded = all("details.more").filter(more => more.querySelector("[data-entry]"));
  const filter = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean), has = text => words.every(word => text.includes(word));
    let shown = 0;
    for (const entry of entries) {
      const fits = has(entry.text);
      entry.element.hidden = !fits;
      shown += fits;
      const inside = words.length > 0 && entry.lines.some(line => has(line.text));
      for (const line of entry.lines) line.line.hidden = inside && !has(line.text);
      entry.inside = fits && inside;
    }
    for (const entry of entries) {
      if ("open" in entry.element) entry.element.open = words.length === 0 ? entry.wasOpen : entry.inside && shown <= 20;
    }
    for (const more of folded) more.open = words.length > 0 && all("[data-entry]", more).some(entry => !entry.hidden) && shown <= 20;
    for (const list of lists) list.hidden = words.length > 0 && all("[data-entry]", list).every(entry => entry.hidden);
    count.textContent = words.length === 0 ? "" : `${shown} of ${entries.length} shown`;
  };
  if (box) {
    all("[data-script]").forEach(element => { element.hidden = false; });
    box.addEventListener("input", filter);
    box.addEventListener("keydown", event => {
      if (event.key === "Escape") { box.value = ""; filter(); }
    });
    document.addEventListener("keydown", event => {
      const typing = event.target.closest?.("input, textarea");
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        box.focus();
        box.select();
      }
    });
  }

  // light and dark
  const theme = document.getElementById("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  if (theme) {
    const is = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
    const name = () => { theme.textContent = is() ? "Light" : "Dark"; };
    theme.addEventListener("click", () => { root.dataset.theme = is() ? "light" : "dark"; name(); });
    dark.addEventListener("change", name);
    name();
  }

  // what an anchor names is opened
  const reveal = id => {
    const element = document.getElementById(id);
    if (!element) return;
    for (let at = element; at; at = at.parentElement) {
      if (at.tagName === "DETAILS") at.open = true;
      at.hidden &&= false;
    }
    element.scrollIntoView({ block: "start" });
    const target = element.querySelector(":scope > summary") ?? element;
    if (target.tabIndex < 0) target.tabIndex = -1;
    target.focus({ preventScroll: true });
  };
  addEventListener("hashchange", () => reveal(location.hash.slice(1)));
  if (location.hash) reveal(location.hash.slice(1));
  document.addEventListener("click", event => {
    const session = event.target.closest?.("svg [data-session]");
    if (session) reveal(session.dataset.session);
  });
})();
