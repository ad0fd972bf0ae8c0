/**
 * In a page's head, right after its styles: when typefaces are asked for. The book's two come too late for the first
 * words where those ask for them, so a page asks here. A phone, whose network has the words to bring, shows its first
 * page in a system's type, asks when that is there, and has the book's from its second page on.
 */
(() => {
  const types = ["source-sans", "source-serif"].map((name) => `{root}/${name}.woff2`);

  const early = { rel: "preload", as: "font", type: "font/woff2", crossOrigin: "" };
  const preload = (href) => document.head.append(Object.assign(document.createElement("link"), early, { href }));

  function isKept() {
    try {
      return localStorage.getItem("type") === "kept";
    } catch {
      return true; // no storage, as in a frame of another site: nobody knows which page is the first
    }
  }

  async function keep() {
    const answers = await Promise.all(types.map((href) => fetch(href)));
    await Promise.all(answers.map((answer) => answer.blob()));
    localStorage.setItem("type", "kept");
  }

  if (location.protocol !== "file:") { // there each file counts as of another origin
    if (matchMedia("(min-width: 48rem)").matches || isKept()) types.forEach(preload);
    else {
      document.documentElement.dataset.type = "plain";
      addEventListener("load", () => keep().catch(() => {})); // offline: another time
    }
  }
  document.fonts.load("1em MJXZERO"); // in the styles: before a line with a formula is laid out, as high as it says
})();
