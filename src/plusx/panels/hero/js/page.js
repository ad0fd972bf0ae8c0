/**
 * The first page's net that a reader can break. `plusx.panels.hero` has written what it says whole and with each skip cut; one
 * skip is cut at a time. The text types itself, unless the reader wants no motion.
 */

import { diagram as pressed } from "../../../explore/js/diagram.js";

(() => {
  const root = /** @type {HTMLElement} */ (document.querySelector(".plusx-hero"));
  if (!root) return;
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (root.querySelector(name));
  const { cut, written, loss, names } = JSON.parse(String(part(".hero-setup").textContent));
  const [diagram, text, button, status] = [".px-diagram", ".hero-written", "button", "[role=status]"].map(part);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const whole = [...diagram.querySelectorAll(".px-piece")].map((piece) => piece.outerHTML);
  const rest = document.createElement("span"); // unseen, what is still to come: no line breaks anew while it types
  rest.className = "hero-rest";
  text.after(rest);
  let now = 0; // 0 whole, or 1 and on for the skip that is cut
  let typing = 0;

  /** The text, letter by letter. A screen reader hears of the change from the status alone. */
  function type() {
    clearInterval(typing);
    const letters = written[now];
    let at = still.matches || document.hidden ? letters.length : 0;
    const put = () => {
      text.textContent = letters.slice(0, at);
      rest.textContent = letters.slice(at);
      if (at++ >= letters.length) clearInterval(typing);
    };
    typing = setInterval(put, 22);
    put();
  }

  /** @param {number} next */
  function show(next) {
    now = next;
    root.dataset.hero = now ? "cut" : "whole";
    layers.forEach((layer, row) => {
      layer.show([2 * row, 2 * row + 1].map((at) => ({ html: at === now - 1 ? cut[at] : whole[at] })));
    });
    button.textContent = now ? "Put it back" : "Cut one line";
    status.textContent = now
      ? `Cut: ${names[now - 1]}. Loss ${loss[now]} nats a character, not ${loss[0]}.`
      : `All twelve skips in place. Loss ${loss[0]} nats a character.`;
    type();
  }

  const choose = (/** @type {string} */ control, /** @type {number} */ value) => show(value ? 0 : Number(control.split("_")[1]));
  const rows = /** @type {NodeListOf<HTMLElement>} */ (diagram.querySelectorAll(".hero-pieces"));
  const layers = [...rows].map((row, i) => {
    row.ariaLabel = `Layer ${i + 1}`;
    return pressed(row, choose);
  });
  button.hidden = false;
  root.classList.add("hero-live");
  button.addEventListener("click", () => show(now ? 0 : 3));
  type();
})();
