/**
 * A script and its stage (stage.py, stage.css): a link to a state sets the explorer as the reader comes to it, until the
 * reader takes the controls. On a phone the picture stays in sight, until it is closed.
 */

import { make } from "../../../src/plusx/explore/js/elements.js";
import { whenBegun } from "../../build/begun.js";

const html = document.documentElement;
const beside = matchMedia("(min-width: 1200px)");
const small = matchMedia("(max-width: 600px)");
const LEAST = 0.8; // of the height that a figure asks for
const isRead = () => html.dataset.reading === "read" && !html.classList.contains("px-slides");

for (const script of document.querySelectorAll(".px-script")) {
  const root = script.querySelector(".plusx-explore");
  direct(script, root);
  dock(root, script.lastElementChild);
  new ResizeObserver(() => fit(root)).observe(root.querySelector(".px-figure"));
}

/** Where there is less room than panels with their axes need, the picture is drawn as tall as that, and then small. */
function fit(root) {
  const figure = root.querySelector(".px-figure");
  const { clientHeight } = figure; // 0 where it is hidden: a picture of no size draws errors
  if (clientHeight) root.style.setProperty("--px-fit", Math.min(1, clientHeight / (LEAST * parseFloat(figure.style.height))));
}

/** Let each link to a state set it as the line that it stands on comes to be read. */
function direct(script, root) {
  if (location.hash.startsWith(`#${root.dataset.name}?`)) return; // the reader has come for a state
  const links = script.querySelectorAll(`.px-words a[href^="#${root.dataset.name}?"]`);
  const speak = (speaker) => links.forEach((link) => link.classList.toggle("px-speaks", link === speaker));
  const watch = whenBegun([...links], 50, (speaker) => {
    if (!isRead() || !(beside.matches || root.matches(".px-docked"))) return;
    speak(speaker);
    root.dataset.show = speaker.hash; // which the explorer reads when it starts
    root.dispatchEvent(new Event("px-show"));
  });
  /** The reader has taken over, by a control, were it only its focus, or by a link to a state. */
  const leave = () => {
    watch.disconnect();
    speak(null);
  };
  for (const touch of ["pointerdown", "focusin"]) {
    root.addEventListener(touch, ({ target }) => target.closest(".px-controls") && leave());
  }
  addEventListener("hashchange", () => location.hash.startsWith(`#${root.dataset.name}?`) && leave());
}

/** Keep the picture at the top of a phone's screen while the text after it is read. */
function dock(root, after) {
  const place = root.parentElement;
  const close = make("button", { type: "button", class: "px-undock", "aria-label": "Close the picture" }, "×");
  root.append(close);
  let closed = false;
  const tell = () => {
    const passed = place.getBoundingClientRect().bottom < 0.3 * innerHeight;
    const read = after.getBoundingClientRect().bottom > 0.55 * innerHeight;
    const on = small.matches && passed && read && !closed && isRead();
    if (on === root.classList.contains("px-docked")) return;
    place.style.minHeight = on ? `${place.offsetHeight}px` : "";
    root.classList.toggle("px-docked", on);
  };
  close.addEventListener("click", () => {
    closed = true;
    tell();
  });
  addEventListener("scroll", tell, { passive: true }); // once a frame, as a browser has it
  addEventListener("resize", tell);
}
