/**
 * In a page's head, right after its styles: when typefaces are asked for. The book's two come too late for the first
 * words where those ask for them. A wide page asks here. A phone, whose network has the words to bring, shows its first
 * page in a system's type, asks when that is there, and has the book's from its second page on.
 */
(() => {
  const types = ["source-sans", "source-serif"].map((name) => `{root}/${name}.woff2`);

  function preload(href) {
    const link = { rel: "preload", as: "font", type: "font/woff2", crossOrigin: "", href };
    document.head.append(Object.assign(document.createElement("link"), link));
  }

  const keep = (href) => fetch(href).then((answer) => answer.blob());

  function keepLater() {
    try {
      if (localStorage.getItem("type")) return;
    } catch {
      return; // no storage, as in a frame of another site
    }
    document.documentElement.dataset.type = "plain";
    const note = () => localStorage.setItem("type", "kept");
    addEventListener("load", () => Promise.all(types.map(keep)).then(note, () => {})); // offline: another time
  }

  if (location.protocol !== "file:") { // there each file counts as of another origin
    if (matchMedia("(min-width: 48rem)").matches) types.forEach(preload);
    else keepLater();
  }
  document.fonts.load("1em MJXZERO"); // in the styles: before a line with a formula is laid out, as high as it says
})();
