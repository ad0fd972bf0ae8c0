/** Read or Lab: the switch in the header, remembered, and what Read folds: code, measurements, and lab notes. */

import { make } from "../../../src/plusx/explore/js/elements.js";

(() => {
  const root = document.documentElement;
  const button = document.querySelector(".btn-reading-button");
  if (!button) return;
  const article = document.querySelector(".bd-article");
  const titles = [...article.querySelectorAll(".px-notes > section > h3")].map((title) => {
    const own = [...title.childNodes].filter((node) => !node.matches?.(".headerlink"));
    const words = make("button", { type: "button", class: "px-note" }, ...own);
    title.prepend(words);
    return words;
  });
  button.replaceChildren(make("span", {}, "Read"), " ", make("span", {}, "Lab"));
  button.ariaLabel = "Read Lab: all code open"; // begins with what is seen

  function tell() {
    const all = root.dataset.reading === "lab";
    button.ariaPressed = all;
    for (const title of titles) {
      title.disabled = all; // nothing is folded
      title.ariaExpanded = all || title.closest("section").matches(".px-shown");
    }
  }

  (globalThis.plusx ??= {}).reading = () => {
    root.dataset.reading = root.dataset.reading === "lab" ? "read" : "lab";
    localStorage.setItem("reading", root.dataset.reading);
    tell();
  };
  tell();

  function fold(badge, open) {
    badge.closest(".px-fold, section").classList.toggle("px-shown", open);
    badge.ariaExpanded = open;
  }

  /** Show a note where it is spoken of: it is taken out of its list, and goes back when the sheet is closed. */
  function show(note) {
    const gap = document.createComment("");
    const close = make("button", { type: "button", class: "px-close", "aria-label": "Close" }, "×");
    const sheet = make("dialog", { class: "px-sheet", "aria-label": note.querySelector("h3").firstChild.textContent }, close);
    note.replaceWith(gap);
    sheet.append(note);
    article.append(sheet);
    sheet.addEventListener("click", ({ target }) => {
      const link = target.closest("a[href^='#']");
      const leaves = link && !note.contains(place(link.hash));
      if (leaves || target === sheet || target === close) sheet.close();
    });
    sheet.addEventListener("close", () => {
      gap.replaceWith(note);
      sheet.remove();
    });
    // Chromium does not close it where a part of a drawing has the focus.
    sheet.addEventListener("keydown", ({ key }) => key === "Escape" && sheet.close());
    sheet.showModal();
    sheet.scrollTop = 0;
  }

  article.addEventListener("click", (event) => {
    const badge = event.target.closest(".px-badge, .px-note");
    if (badge) fold(badge, badge.ariaExpanded !== "true");
    const link = event.target.closest("a[href^='#']");
    const note = link?.matches(".px-evidence") && place(link.hash);
    if (link && !note) unfold(place(link.hash));
    if (!note || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    show(note);
  });

  /* What a link or the search leads to is open. */
  function unfold(node) {
    const note = node?.closest(".px-notes > section")?.querySelector(".px-note");
    if (note) fold(note, true);
    const badge = node?.closest(".px-fold")?.querySelector(".px-badge");
    const details = node?.closest(".cell details:not([open])");
    if (badge?.checkVisibility()) fold(badge, true);
    if (details) details.open = true;
    return Boolean(note || badge || details);
  }

  /** What an address leads to: a place, or an explorer, before whose state it has a question mark. */
  function place(hash) {
    try {
      const id = decodeURIComponent(hash.slice(1));
      return document.getElementById(id) ?? document.getElementById(`explore-${id.split("?")[0]}`);
    } catch {
      return null; // an address that nobody can read
    }
  }

  function follow() {
    const target = place(location.hash);
    if (unfold(target)) target.scrollIntoView();
  }

  window.addEventListener("hashchange", follow);
  window.addEventListener("load", () => {
    follow();
    setTimeout(() => document.querySelectorAll(".bd-article .highlighted").forEach(unfold), 50); // Sphinx marks them after 10
  });
})();
