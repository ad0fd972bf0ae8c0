/**
 * One stylesheet for the site in place of the dozen that themes and extensions bring: less their comments
 * and the rules for what no page holds and no script names.
 * Reads {css, pages: [html, ...], scripts: [path, ...]} as JSON, writes the stylesheet.
 */
const { readFileSync } = require("node:fs");
const { PurgeCSS } = require("purgecss");

const input = JSON.parse(readFileSync(0, "utf8"));
const words = (text) => text.match(/[\w-]+/g) ?? [];

async function main() {
  const [{ css }] = await new PurgeCSS().purge({
    css: [{ raw: input.css }],
    content: [
      ...input.pages.map((raw) => ({ raw, extension: "html" })),
      ...input.scripts.map((path) => ({ raw: readFileSync(path, "utf8"), extension: "js" })),
    ],
    defaultExtractor: words,
    dynamicAttributes: ["open", "data-theme", "data-mode", "data-reading", "data-type"], // what a reader's browser sets
    fontFace: true,
  });
  process.stdout.write(css);
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
