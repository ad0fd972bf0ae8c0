/**
 * The drawing of a block's order, whose parts press an explorer's controls. diagram.py has drawn each state; here its
 * parts learn to be pressed. Beside a kernel this is part of a module, so it looks for nothing of its page.
 */
(() => {
  "use strict";

  /** Two pieces are built alike if they have the same elements, which press the same controls. */
  const shape = (node) => Array.from(node.querySelectorAll("*"), ({ tagName, dataset }) => tagName + dataset.set).join();

  /** Give `old` the attributes and words of `fresh`, which is built alike: the keyboard's focus stays where it is. */
  function take(old, fresh) {
    for (const { name, value } of fresh.attributes) {
      if (name !== "role" && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    if (!fresh.childElementCount && old.textContent !== fresh.textContent) old.textContent = fresh.textContent;
    [...fresh.children].forEach((child, i) => take(old.children[i], child));
  }

  /**
   * Equip the element that holds a diagram's pieces.
   * @param {Element} node with the pieces that Python wrote, or empty until the first `show`
   * @param {(control: string, value: number) => void} choose called with what a press asks for
   * @returns {{ show: (pieces: { html: string }[]) => void }} `show` puts another state in place
   */
  globalThis.plusxDiagram = (node, choose) => {
    let shown = [];
    let stop = 0; // the part that Tab goes to
    const parts = () => [...node.querySelectorAll("[data-set]")];

    function equip() {
      if (!parts().length) return; // a picture
      node.setAttribute("role", "group");
      if (!node.hasAttribute("aria-label")) node.setAttribute("aria-label", "Diagram with switches");
      for (const piece of node.children) piece.setAttribute("role", "group");
      parts().forEach((part, i) => {
        const { role, name, on } = part.dataset;
        part.setAttribute("role", role);
        part.setAttribute("aria-label", name);
        if (role === "switch") part.setAttribute("aria-checked", on);
        part.setAttribute("tabindex", i === stop ? 0 : -1);
      });
    }

    function press(part) {
      choose(part.dataset.set, Number(part.dataset.to));
    }

    node.addEventListener("click", (event) => {
      const part = event.target.closest("[data-set]");
      if (part) press(part);
    });
    node.addEventListener("focusin", (event) => {
      const all = parts();
      stop = Math.max(all.indexOf(event.target), 0);
      all.forEach((part, i) => part.setAttribute("tabindex", i === stop ? 0 : -1));
    });
    node.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const all = parts();
      const last = all.length - 1;
      const goals = { ArrowRight: stop + 1, ArrowDown: stop + 1, ArrowLeft: stop - 1, ArrowUp: stop - 1, Home: 0, End: last };
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
        const focused = () => parts().find((part) => part === node.getRootNode().activeElement);
        const held = focused()?.dataset.set;
        if (node.children.length !== pieces.length) {
          node.innerHTML = pieces.map(({ html }) => html).join("");
        } else {
          const template = document.createElement("template");
          pieces.forEach(({ html }, i) => {
            if (html === shown[i]) return;
            template.innerHTML = html;
            const [old, fresh] = [node.children[i], template.content.firstElementChild];
            if (shape(old) === shape(fresh)) take(old, fresh);
            else old.replaceWith(fresh); // the piece of another order
          });
        }
        shown = pieces.map(({ html }) => html);
        equip();
        if (!held || focused()) return;
        const isSame = ({ dataset }) => dataset.set === held; // in a piece that has taken the place of the one before
        (parts().slice(stop).find(isSame) ?? parts().find(isSame))?.focus({ preventScroll: true });
      },
    };
  };
})();
