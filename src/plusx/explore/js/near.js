/** When a part of a page is worth its work. */

/** A reader has moved in some way: until then the stills show all there is to see. */
export const awake = new Promise((resolve) => {
  for (const sign of ["pointermove", "pointerdown", "keydown", "scroll"]) {
    window.addEventListener(sign, resolve, { once: true, passive: true }); // not captured: the menu scrolls by itself
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

/**
 * The last of some elements that stands above a line across the window, whenever that becomes another: however far a
 * turn of a wheel carries the page, none that has been passed is overlooked. At the page's very top nothing is told.
 * @template {Element} E
 * @param {E[]} elements in their order
 * @param {number} at the line, in percent of the window's height
 * @param {(now: E) => void} call
 */
export function whenBegun(elements, at, call) {
  const begun = new Set();
  /** @type {E | undefined} */
  let now;
  const watch = new IntersectionObserver(
    (seen) => {
      for (const { target, isIntersecting } of seen) begun[isIntersecting ? "add" : "delete"](target);
      const last = scrollY ? elements.findLast((each) => begun.has(each)) : undefined;
      if (last === now) return;
      now = last; // none, above the first: coming down again, one reads it anew
      if (last) call(last);
    },
    { rootMargin: `1000000px 0px -${100 - at}% 0px` },
  );
  for (const each of elements) watch.observe(each);
  return watch;
}
