/**
 * The drawing of a block's order, whose parts press an explorer's controls. diagram.py has drawn each state; here its
 * parts learn to be pressed. Beside a kernel this is part of a module, so it looks for nothing of its page.
 */

/** @typedef {{ html: string }} Piece */

/**
 * Two pieces are built alike if they have the same elements, which press the same controls.
 * @param {Element} node
 */
const shape = (node) => {
  const all = /** @type {NodeListOf<HTMLElement>} */ (node.querySelectorAll("*"));
  return Array.from(all, ({ tagName, dataset }) => tagName + dataset.set).join();
};

/**
 * Give `old` the attributes and words of `fresh`, which is built alike: the keyboard's focus stays where it is.
 * @param {Element} old
 * @param {Element} fresh
 */
function take(old, fresh) {
  for (const { name, value } of fresh.attributes) {
    if (name !== "role" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (!fresh.childElementCount && old.textContent !== fresh.textContent) old.textContent = fresh.textContent;
  [...fresh.children].forEach((child, i) => take(old.children[i], child));
}

/**
 * Equip the element that holds a diagram's pieces.
 * @param {HTMLElement} node with the pieces that Python wrote, or empty until the first `show`
 * @param {(control: string, value: number) => void} choose called with what a press asks for
 * @returns {{ show: (pieces: Piece[]) => void }} `show` puts another state in place
 */
export function diagram(node, choose) {
  /** @type {string[]} */
  let shown = [];
  let stop = 0; // the part that Tab goes to
  const parts = () => [.../** @type {NodeListOf<HTMLElement>} */ (node.querySelectorAll("[data-set]"))];

  function equip() {
    if (!parts().length) return; // a picture
    node.setAttribute("role", "group");
    if (!node.hasAttribute("aria-label")) node.setAttribute("aria-label", "Diagram with switches");
    for (const piece of node.children) piece.setAttribute("role", "group");
    parts().forEach((part, i) => {
      const { role = "", name = "", on = "" } = part.dataset;
      part.setAttribute("role", role);
      part.setAttribute("aria-label", name);
      if (role === "switch") part.setAttribute("aria-checked", on);
      part.setAttribute("tabindex", i === stop ? "0" : "-1");
    });
  }

  const press = (/** @type {HTMLElement} */ { dataset }) => choose(String(dataset.set), Number(dataset.to));
  const partOf = (/** @type {EventTarget | null | undefined} */ target) =>
    /** @type {HTMLElement | null} */ (/** @type {Element | null} */ (target)?.closest("[data-set]") ?? null);
  /** @type {HTMLElement | null} */
  let held = null; // the part that a hand is on
  let swept = false; // whether it has gone along the wire
  node.addEventListener("click", ({ target }) => {
    const part = partOf(target);
    if (part && !swept) press(part);
  });
  node.addEventListener("pointerdown", ({ target }) => (held = partOf(target)));
  const letGo = () => {
    held = null;
    setTimeout(() => (swept = false)); // after the click that follows
  };
  for (const end of ["pointerup", "pointercancel", "pointerleave"]) node.addEventListener(end, letGo);
  node.addEventListener("pointermove", ({ buttons, clientX, clientY, pointerId }) => {
    if (!buttons || !held) return;
    const part = partOf(/** @type {Document | ShadowRoot} */ (node.getRootNode()).elementFromPoint(clientX, clientY));
    if (!part || part === held || part.dataset.set !== held.dataset.set) return;
    if (!swept && part.dataset.to === held.dataset.to) return; // one switch, drawn twice
    held = part;
    swept = true;
    node.setPointerCapture(pointerId); // it may leave the wire, and is let go where it will
    if (part.dataset.on === "true") press(part);
  });
  node.addEventListener("focusin", ({ target }) => {
    stop = Math.max(parts().indexOf(/** @type {HTMLElement} */ (target)), 0);
    equip();
  });
  node.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const all = parts();
    const [on, back, last] = [stop + 1, stop - 1, all.length - 1];
    /** @type {Record<string, number>} */
    const goals = { ArrowRight: on, ArrowDown: on, ArrowLeft: back, ArrowUp: back, Home: 0, End: last };
    if (event.key === " " || event.key === "Enter") {
      if (!event.repeat) press(all[stop]);
    } else if (event.key in goals) {
      all[Math.min(Math.max(goals[event.key], 0), last)].focus();
    } else return;
    event.preventDefault();
    event.stopPropagation(); // to JupyterLab these keys mean its cells
  });
  equip();

  return {
    show(pieces) {
      const focused = () => /** @type {HTMLElement | null} */ (node.querySelector("[data-set]:focus"));
      const held = focused()?.dataset.set;
      if (node.children.length !== pieces.length) {
        node.innerHTML = pieces.map(({ html }) => html).join("");
      } else {
        const template = document.createElement("template");
        pieces.forEach(({ html }, i) => {
          if (html === shown[i]) return;
          template.innerHTML = html;
          const [old, fresh] = [node.children[i], /** @type {Element} */ (template.content.firstElementChild)];
          if (shape(old) === shape(fresh)) take(old, fresh);
          else old.replaceWith(fresh); // the piece of another order
        });
      }
      shown = pieces.map(({ html }) => html);
      equip();
      if (!held || focused()) return;
      /** @param {HTMLElement} part in a piece that has taken the place of the one before */
      const isSame = ({ dataset }) => dataset.set === held;
      (parts().slice(stop).find(isSame) ?? parts().find(isSame))?.focus({ preventScroll: true });
    },
  };
}
