/** Opens pages of the site in Firefox, uses each explorer once, and prints what went wrong: node firefox.mjs BROWSER URL... */
import puppeteer from "puppeteer-core";

// Firefox says this also of a formula of which half has arrived. So what it counts is counted below, of the whole page.
const HALF = /^Invalid markup: Incorrect number of children for </;
const CHILDREN = { mfrac: 2, mroot: 2, msub: 2, msup: 2, msubsup: 3, munder: 2, mover: 2, munderover: 3 };
const [executablePath, ...urls] = process.argv.slice(2);
const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true });
const wrong = [];
for (const url of urls) {
  for (const width of [1280, 390]) {
    const page = await browser.newPage();
    await page.setViewport({ width, height: 800 }).catch((error) => { // an older Firefox sets it and knows no orientation
      if (!/setScreenOrientationOverride/.test(error.message)) throw error;
    });
    const told = (what) => wrong.push(`${new URL(url).pathname} at ${width}: ${what}`);
    page.on("console", (message) => message.type() === "error" && told(message.text()));
    page.on("pageerror", ({ message }) => HALF.test(message) || told(message));
    page.on("request", (request) => /^https?:/.test(request.url()) && !request.url().startsWith(new URL(url).origin) && told(`asks ${request.url()}`));
    await page.goto(url, { waitUntil: "load" });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > width) told(`is ${wide} wide`);
    const odd = await page.evaluate((children) => Object.entries(children).flatMap(([tag, count]) =>
      [...document.querySelectorAll(tag)].filter((each) => each.childElementCount !== count).map((each) => each.outerHTML)), CHILDREN);
    for (const each of odd) told(`has not the children that it needs: ${each}`);
    const names = await page.$$eval(".plusx-explore", (roots) => roots.map((root) => root.dataset.name));
    for (const name of names) {
      const root = await page.$(`#explore-${name}`);
      await root.scrollIntoView();
      try {
        await root.waitForSelector("fieldset:not([disabled]) [data-control]", { timeout: 20_000 });
        // As a hand would: the next value of the first control, then the picture of it.
        const result = await root.evaluate((node) => new Promise((resolve, reject) => {
          setTimeout(() => reject(new Error("no picture after 20 s")), 20_000);
          const control = node.querySelector("[data-control]");
          const { name } = control;
          const next = control.type === "radio" ? node.querySelector(`[name="${name}"]:not(:checked)`) : control;
          const before = node.querySelector(".px-link").href;
          if (/radio|checkbox/.test(next.type)) next.click();
          else {
            if (next.tagName === "SELECT") next.selectedIndex = (next.selectedIndex + 1) % next.options.length;
            else next.value = next.value === next.max ? next.min : next.max;
            next.dispatchEvent(new Event("input", { bubbles: true }));
          }
          const look = () => {
            const drawn = node.matches(".px-live:not(.px-pending)") || node.dataset.bundle === "gl3d";
            if (drawn && node.querySelector(".px-link").href !== before) resolve(node.querySelector(".px-result").textContent);
            else setTimeout(look, 50);
          };
          look();
        }));
        if (!result) told(`${name} says nothing`);
        const part = await root.$("[data-drawn] > .px-diagram [role=switch]"); // of a wire
        const was = await part?.evaluate((node) => node.ariaChecked);
        await part?.click();
        if (part && (await part.evaluate((node) => node.ariaChecked)) === was) told(`${name}: a press on its wire does nothing`);
      } catch (error) {
        told(`${name}: ${error.message}`);
      }
    }
    await page.close();
  }
}
await browser.close();
console.log(JSON.stringify(wrong, null, 1));
