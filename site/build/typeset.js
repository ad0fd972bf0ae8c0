/**
 * Typeset TeX with MathJax before the page is served, so that a reader loads no MathJax.
 * Reads {fonts, formulas: [[tex, display, tex with colours], ...]} as JSON, writes {html: [...], css}.
 */
const input = JSON.parse(require("node:fs").readFileSync(0, "utf8"));

async function main() {
  const MathJax = await require("mathjax").init({
    loader: { load: ["input/tex-full", "output/chtml"] },
    tex: { packages: { "[-]": ["noundefined"] } }, // an unknown macro is an error, not red text
    chtml: { fontURL: input.fonts },
    startup: { typeset: false },
  });
  const adaptor = MathJax.startup.adaptor;
  const html = input.formulas.map(([tex, display, colours]) => {
    const shown = MathJax.tex2chtml(colours, { display });
    const problem = adaptor.tags(shown, "mjx-merror")[0];
    if (problem) throw new Error(`${adaptor.getAttribute(problem, "data-mjx-error")} in: ${tex}`);
    // As MathJax does in a page: eyes get the drawing, screen readers the MathML beside it.
    adaptor.setAttribute(adaptor.firstChild(shown), "aria-hidden", "true");
    const spoken = adaptor.node("span", { class: "px-mathml" });
    const mathml = MathJax.tex2mml(tex, { display }).replace(/\n\s*/g, "");
    adaptor.append(shown, spoken);
    const painted = adaptor.outerHTML(shown).replace(/class="([\w -]*?) ?(plusx-\w+)"/g, 'class="$2 $1"');
    return painted.replace("</span></mjx-container>", `${mathml}</span></mjx-container>`);
  });
  process.stdout.write(JSON.stringify({ html, css: adaptor.textContent(MathJax.chtmlStylesheet()) }));
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
