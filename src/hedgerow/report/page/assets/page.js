(() => {
  "use strict";
  const root = document.documentElement, all = (what, where = document) => [...where.querySelectorAll(what)];
  const one = (id) => document.getElementById(id);
  root.classList.add("js");

  // Light and dark: as the system has it, until the button says otherwise.
  const theme = one("theme");
  const keep = (value) => { try { localStorage.setItem("hedgerow-theme", value); } catch { /* nothing is kept */ } };
  try { const kept = localStorage.getItem("hedgerow-theme"); if (kept) root.dataset.theme = kept; } catch { /* none */ }
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    keep(root.dataset.theme);
  });

  // Filters hide what does not fit.
  const items = all(".item"), label = one("by-label"), error = one("by-error"), sure = one("by-sure");
  const has = (list, value) => !value || ` ${list} `.includes(` ${value} `);
  const filter = () => {
    const least = sure ? Number(sure.value) : 0;
    let shown = 0;
    for (const item of items) {
      const fits = has(item.dataset.labels, label.value) && has(item.dataset.errors, error?.value)
        && (!least || Number(item.dataset.sure) >= least);
      item.hidden = !fits;
      shown += fits;
    }
    if (sure) one("sure-shown").textContent = `${least} %`;
    one("count").textContent = `${shown} of ${items.length} shown`;
  };
  if (label) { for (const field of [label, error, sure]) field?.addEventListener("input", filter); filter(); }

  // A click on a position opens its explanation, and that alone.
  const ask = (link) => {
    const why = one(link.getAttribute("href").slice(1)), item = why?.closest(".item");
    if (!why) return;
    const open = link.getAttribute("aria-current") === "true";
    for (const other of all("[aria-current]", item)) other.removeAttribute("aria-current");
    for (const other of all(".why", item)) other.hidden = !open && other !== why;
    why.parentElement.open = !open;
    if (!open) { link.setAttribute("aria-current", "true"); why.scrollIntoView({ block: "nearest" }); }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#w']");
    if (link && one(link.getAttribute("href").slice(1))?.classList.contains("why")) { event.preventDefault(); ask(link); }
  });

  // Tables sort by a column.
  const value = (row, j) => row.cells[j].textContent.trim();
  const number = (text) => Number.parseFloat(text.replace(/,/g, ""));
  for (const head of all(".sort thead th")) {
    head.addEventListener("click", () => {
      const table = head.closest("table"), j = head.cellIndex, down = !("down" in head.dataset);
      const rows = [...table.tBodies[0].rows], numeric = rows.every((row) => !Number.isNaN(number(value(row, j))) || /^[–·]?$/.test(value(row, j)));
      const compare = (a, b) => numeric ? (number(value(a, j)) || 0) - (number(value(b, j)) || 0) : value(a, j).localeCompare(value(b, j));
      for (const other of all("th", table.tHead)) { delete other.dataset.up; delete other.dataset.down; }
      head.dataset[down ? "down" : "up"] = "";
      table.tBodies[0].append(...rows.sort((a, b) => down ? compare(b, a) : compare(a, b)));
    });
  }

  // Lists are saved as files. A text that a spreadsheet would take for a formula is quoted.
  const cell = (text) => {
    const safe = /^[=+@\t-]./.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return /[",\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  };
  for (const button of all(".save")) {
    button.addEventListener("click", () => {
      const lines = [...one(button.dataset.table).rows].map((row) => [...row.cells].map((c) => cell(c.textContent.trim())).join(","));
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
      link.download = button.dataset.name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  // The section that is read is marked; all is open on paper.
  const links = new Map(all("nav a").map((a) => [a.getAttribute("href").slice(1), a]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const a of links.values()) a.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const section of all("main > section")) seen.observe(section);
  addEventListener("beforeprint", () => { for (const part of all("details:not(.whys)")) part.open = true; });
})();
