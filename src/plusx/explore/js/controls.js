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

/**
 * @param {HTMLFormElement} form
 * @returns {Control[]}
 */
export function controlsOf(form) {
  const inputs = /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("[data-control]"));
  return [...Map.groupBy(inputs, ({ dataset }) => dataset.control).values()].map(control);
}

/**
 * @param {HTMLInputElement[]} inputs
 * @returns {Control}
 */
function control(inputs) {
  const [first] = inputs;
  const name = first.name;
  if (first.type === "checkbox") {
    const set = (/** @type {number} */ i) => {
      first.checked = i === 1;
    };
    return { name, labels: ["off", "on"], get: () => Number(first.checked), set };
  }
  if (first.type === "radio") {
    const labels = inputs.map((input) => String(input.dataset.label)); // not the words, which a translator may change
    const set = (/** @type {number} */ i) => {
      inputs[i].checked = true;
    };
    return { name, labels, get: () => inputs.findIndex((input) => input.checked), set };
  }
  const get = () => Number(first.value);
  const set = (/** @type {number} */ i) => {
    first.value = String(i);
  };
  if (first.type !== "range") {
    const { options } = /** @type {HTMLSelectElement} */ (/** @type {unknown} */ (first));
    return { name, labels: Array.from(options, (option) => String(option.dataset.label)), get, set };
  }
  const labels = JSON.parse(String(first.dataset.labels));
  const show = (/** @type {number} */ i) => {
    first.setAttribute("aria-valuetext", labels[i]);
    if (first.nextElementSibling) first.nextElementSibling.textContent = labels[i];
  };
  return { name, labels, show, get, set };
}
