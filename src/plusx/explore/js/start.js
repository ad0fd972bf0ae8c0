/** Bringing explorers to life, and ending them. */

import { followTheme } from "./colours.js";
import { one } from "./elements.js";
import { Explorer } from "./explorer.js";
import { followHost } from "./host.js";
import { awake, whenNear } from "./near.js";

/** @import { Kernel, Table } from "./sources.js" */

const DAMAGED = "The data of this explorer is damaged or missing.";
const TOUCHES = ["pointerenter", "focusin", "input", "click"];

/**
 * Bring an explorer to life; `root.explorer` is it, or null if it has no data.
 * @param {HTMLElement & {explorer?: Explorer | null}} root
 * @param {() => Promise<Table | Kernel>} sourceOf
 * @returns {Promise<() => void>} what ends it
 */
export async function start(root, sourceOf) {
  try {
    root.explorer = new Explorer(root, await sourceOf());
  } catch (error) {
    root.explorer = null;
    const message = one(root, ".px-message[role=alert]");
    message.textContent = `${DAMAGED} (${/** @type {Error} */ (error).message}) The picture and the data below show the state it starts in.`;
    message.hidden = false;
    return () => {};
  }
  const { explorer } = root;
  const { picture, inPage } = explorer;
  let failed = false;
  const load = async () => {
    if (picture.ready) return;
    try {
      await picture.load?.();
    } catch (error) {
      failed = true;
      const { message } = /** @type {Error} */ (error);
      explorer.say(`${message}: the picture stays at the start, the words and the data follow the controls.`);
      return;
    }
    if (failed) explorer.say("");
    picture.redraw();
  };
  for (const touch of TOUCHES) root.addEventListener(touch, load); // also after a failure
  const leave = new AbortController();
  if (root.matches(".px-pending")) load(); // a link asks for more than the still shows
  else if (!inPage) whenNear(root, load);
  else if (root.dataset.bundle !== "gl3d") awake.then(() => whenNear(root, load)); // the largest comes with a touch
  if (inPage) window.addEventListener("hashchange", () => explorer.followLink(), leave);
  const repaint = () => picture.repaint();
  const resize = new ResizeObserver(() => picture.resize?.());
  resize.observe(one(root, ".px-plot"));
  const onPaper = (/** @type {boolean} */ paper) => () => {
    explorer.paper = paper;
    picture.redraw();
  };
  window.addEventListener("beforeprint", onPaper(true), leave);
  window.addEventListener("afterprint", onPaper(false), leave);
  followTheme(repaint, leave.signal);
  if (!inPage) followHost(root, leave.signal, repaint); // its looks are those of the notebook's application
  return () => {
    leave.abort();
    resize.disconnect();
    if (!inPage) explorer.source.close();
    picture.end();
  };
}
