/** The controls of an explorer's markup: how each is read and set, by the index of its value. */

/** @import { Control } from "./types.js" */

/**
 * The form that the markup's controls make, put in their box's place.
 * @param {Element} box
 */
export function formOf(box) {
  const held = document.activeElement; // the link, if a reader is that fast: what is moved loses the focus
  const form = document.createElement("form");
  form.className = box.className;
  form.autocomplete = "off";
  box.replaceWith(form);
  form.append(...box.childNodes);
  const named = /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("[data-name]"));
  for (const input of named) input.name = String(input.dataset.name);
  if (held instanceof HTMLElement && form.contains(held)) held.focus({ preventScroll: true });
  return form;
}

/** @type {(form: HTMLFormElement) => Control[]} */
export const controlsOf = (form) => Array.from(form.querySelectorAll("[type=checkbox], [data-labels]"), control);

/** @type {(first: any) => Control} first: a control's element, of radios the one that has the labels */
const control = (first) => {
  const { name, form, type } = first;
  if (type === "checkbox") {
    const set = (/** @type {number} */ i) => (first.checked = i === 1);
    return { name, labels: ["off", "on"], get: () => Number(first.checked), set };
  }
  const labels = JSON.parse(first.dataset.labels); // not the words, which a translator may change
  const all = form.elements.namedItem(name); // radios together, or what stands alone
  const set = (/** @type {number} */ i) => (all.value = i);
  const show = (/** @type {number} */ i) => {
    first.setAttribute("aria-valuetext", labels[i]);
    first.nextElementSibling.textContent = labels[i].replaceAll("-", "−"); // they are numbers
  };
  return { name, labels, get: () => Number(all.value), set, show: type === "range" ? show : undefined };
};
