// Optional: shows one version at a time, and searches. The pages are readable without it.
"use strict";
document.documentElement.classList.add("script");

(() => {
  const MOST_RESULTS = 40;

  // -- one version at a time ---------------------------------------------------------------

  const holds = (element, version) =>
    Number(element.dataset.from) <= version && version <= Number(element.dataset.to);

  function choose(choice, version) {
    const links = [...choice.querySelectorAll("nav.versions a")];
    if (!links.some((link) => holds(link, version))) return;
    for (const link of links) {
      if (holds(link, version)) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    for (const form of choice.querySelectorAll(".form")) {
      form.classList.toggle("chosen", holds(form, version));
    }
  }

  // An address may name a version (#v12), a form, or a field in one.
  function follow() {
    // Names in the guide need no escapes in an address.
    const name = location.hash.slice(1);
    if (!name) return;
    const target = document.getElementById(name);
    const version = /(?:^|-)v(\d+)$/.exec(name);
    if (version) {
      for (const choice of document.querySelectorAll(".choice")) {
        const prefix = name.slice(0, version.index);
        const known = !prefix || choice.querySelector(`.form[id^="${CSS.escape(prefix)}-v"]`);
        if (known) choose(choice, Number(version[1]));
      }
    } else if (target && target.closest(".form")) {
      const form = target.closest(".form");
      choose(form.closest(".choice"), Number(form.dataset.to));
    }
    if (target && !/^v\d+$/.test(name)) target.scrollIntoView();
  }

  function pickedVersion(event) {
    const link = event.target.closest("nav.versions a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    // Keep the scroll position; only the visible version changes.
    event.preventDefault();
    choose(link.closest(".choice"), Number(link.dataset.to));
    history.replaceState(null, "", link.getAttribute("href"));
  }

  function pressedShowAll(event) {
    const button = event.target.closest(".show-all");
    if (!button) return;
    const all = button.closest(".choice").classList.toggle("all");
    button.setAttribute("aria-pressed", String(all));
  }

  // -- search ------------------------------------------------------------------------------

  let input, list, shown = [], active = -1;

  function loadIndex() {
    if (document.getElementById("index")) return;
    const script = document.createElement("script");
    script.id = "index";
    script.src = `${document.body.dataset.root}assets/search-index.js`;
    script.addEventListener("load", search);
    document.head.append(script);
  }

  const squeeze = (text) => text.toLowerCase().replace(/[\s_]+/g, "");

  // Lower is better; -1 is no match. Names count before paths, beginnings before middles.
  function rank(text, query) {
    const lower = text.toLowerCase();
    const name = lower.slice(lower.lastIndexOf(".") + 1);
    if (name === query || lower === query) return 0;
    if (name.startsWith(query)) return 1;
    const place = lower.indexOf(query);
    if (place < 0) return -1;
    return name.includes(query) ? 2 : 3;
  }

  function find(text) {
    const query = squeeze(text);
    const index = globalThis.kraftwireGuide;
    if (!query || !index) return [];
    const found = [];
    const add = (kind, [name, page, anchor], better) => {
      const number = String(index.pages[page][1]) === query;
      const place = kind === 0 && number ? 0 : rank(name, query);
      if (place >= 0) found.push({ order: place * 4 + kind * 2 - better, name, page, anchor });
    };
    for (const row of index.messages) add(0, row, 1);
    for (const row of index.fields) add(1, row, 0);
    for (const [name, page, number] of index.errors) {
      const place = String(number) === query ? 0 : rank(squeeze(name), query);
      const shownAs = `${name}, error ${number}`;
      if (place >= 0) found.push({ order: place * 4 + 1, name: shownAs, page, anchor: name });
    }
    found.sort((a, b) => a.order - b.order || a.page - b.page);
    return found.slice(0, MOST_RESULTS);
  }

  function option(item, place) {
    const [address, , about] = globalThis.kraftwireGuide.pages[item.page];
    const row = document.createElement("li");
    row.id = `result-${place}`;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", "false");
    row.textContent = item.name;
    const small = document.createElement("small");
    const page = address.slice(address.lastIndexOf("/") + 1).replace(/\.html$/, "");
    const part = item.anchor.split("-v")[0];
    small.textContent = `${page}, ${item.anchor.includes("-v") ? `${part}, ` : ""}${about}`;
    row.append(small);
    row.addEventListener("mousedown", (event) => {
      event.preventDefault();
      open(item);
    });
    return row;
  }

  function search() {
    shown = find(input.value);
    const rows = shown.map(option);
    if (!rows.length && input.value.trim() && globalThis.kraftwireGuide) {
      const row = document.createElement("li");
      row.textContent = "No results.";
      row.setAttribute("role", "option");
      row.setAttribute("aria-disabled", "true");
      rows.push(row);
    }
    list.replaceChildren(...rows);
    list.hidden = !rows.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    activate(shown.length ? 0 : -1);
  }

  function activate(place) {
    active = place;
    [...list.children].forEach((row, number) =>
      row.setAttribute("aria-selected", String(number === place)));
    if (place < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", `result-${place}`);
    list.children[place].scrollIntoView({ block: "nearest" });
  }

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
  }

  function open(item) {
    const address = globalThis.kraftwireGuide.pages[item.page][0];
    close();
    location.href = `${document.body.dataset.root}${address}#${item.anchor}`;
  }

  function typed(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!shown.length) return;
      if (list.hidden) list.hidden = false;
      const step = event.key === "ArrowDown" ? 1 : -1;
      activate((active + step + shown.length) % shown.length);
    } else if (event.key === "Enter" && shown[active]) {
      open(shown[active]);
    } else if (event.key === "Escape") {
      close();
    } else {
      return;
    }
    event.preventDefault();
  }

  function slash(event) {
    const writing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.key !== "/" || writing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
    input.select();
  }

  document.addEventListener("DOMContentLoaded", () => {
    input = document.getElementById("search");
    list = document.getElementById("results");
    input.addEventListener("focus", loadIndex);
    input.addEventListener("input", search);
    input.addEventListener("keydown", typed);
    input.addEventListener("blur", close);
    document.addEventListener("keydown", slash);
    document.addEventListener("click", pickedVersion);
    document.addEventListener("click", pressedShowAll);
    addEventListener("hashchange", follow);
    follow();
  });
})();
