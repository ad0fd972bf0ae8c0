/** Lanes may stand closed, so that who reads on need not wait for them. */

import { here } from "../../js/engine.js";

/** Start lanes at once, or, where they are closed, when a reader or a link opens them. */
export function whenOpen(root, start) {
  const closed = root.querySelector(".ln-closed");
  if (!closed || closed.open) {
    start();
    return;
  }
  closed.addEventListener("toggle", start, { once: true });
  const follow = () => {
    closed.open ||= location.hash.startsWith(`#${root.id}?`);
  };
  if (!here) return;
  follow();
  window.addEventListener("hashchange", follow);
}
