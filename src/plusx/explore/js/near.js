/** When a part of a page is worth its work. */

/** A reader has moved in some way: until then the stills show all there is to see. */
export const awake = new Promise((resolve) => {
  const leave = new AbortController();
  const moved = (/** @type {Event & Partial<PointerEvent>} */ event) => {
    // A page that comes up under a pointer at rest hears of it too.
    if (event.type === "pointermove" && !event.movementX && !event.movementY) return;
    leave.abort();
    resolve(undefined);
  };
  for (const sign of ["pointermove", "pointerdown", "keydown", "scroll"]) {
    window.addEventListener(sign, moved, { signal: leave.signal, passive: true }); // not captured: the menu scrolls by itself
  }
});

/**
 * Within a second: a browser that always has something to draw, such as a solid in another page, is never idle.
 * @param {() => void} call
 */
export const idle = (call) => {
  if (window.requestIdleCallback) window.requestIdleCallback(call, { timeout: 1000 });
  else setTimeout(call, 200);
};

/**
 * Once, when the page has nothing else to do and the reader is within a screen of an element.
 * @param {Element} element
 * @param {() => void} call
 */
export function whenNear(element, call) {
  const watch = new IntersectionObserver(
    ([entry]) => {
      if (!entry.isIntersecting) return;
      watch.disconnect();
      idle(call);
    },
    { rootMargin: "100%" },
  );
  watch.observe(element);
}
