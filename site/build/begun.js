/** Which part of a page its reader has begun. */

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
