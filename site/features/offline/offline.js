/* The first page's offer to keep the book on this device, where the browser can: see offline-worker.js. */
(() => {
  const root = document.querySelector(".px-offline");
  let serviceWorker, storage;
  try {
    ({ serviceWorker, storage } = navigator);
  } catch {} // a frame of another site, which may keep nothing
  if (!root || !serviceWorker || !location.protocol.startsWith("http")) return;
  const [button, status] = ["button", "[role=status]"].map((part) => root.querySelector(part));
  const scope = new URL("./", location).href;
  const manifest = document.createElement("link"); // from disk its address would be an error
  Object.assign(manifest, { rel: "manifest", href: "app.webmanifest" });
  document.head.append(manifest);

  const OFFERED = `Keep the book on this device (${root.dataset.megabytes} MB)`;
  const KEPT = "Remove it from this device";

  let act = keep;

  /** What the button does next, and what there is to say. */
  function show(next, words) {
    act = next === KEPT ? remove : keep;
    button.textContent = next;
    button.disabled = false;
    status.textContent = words;
  }

  const showKept = () => show(KEPT, "Kept. The book opens here without a network.");
  const showNewer = () => show(KEPT, "Kept. A new edition is here too, and opens once all pages of the book were closed.");

  /** This book's own registration: another site of the same host may have one for all of it. */
  async function registered() {
    const found = await serviceWorker.getRegistration(scope);
    return found?.scope === scope ? found : undefined;
  }

  async function keep() {
    storage?.persist?.(); // asks the browser not to clear it when space is short
    const { installing, waiting, active } = await serviceWorker.register("offline-worker.js", { scope });
    const worker = installing ?? waiting ?? active;
    await new Promise((done, fail) => {
      const look = () => {
        if (worker.state === "activated") done();
        if (worker.state === "redundant") fail(new Error("the network or the space on this device gave out"));
      };
      worker.addEventListener("statechange", look);
      look();
    });
    showKept();
  }

  async function remove() {
    await (await registered())?.unregister();
    for (const name of await caches.keys()) if (name.startsWith(`plusx ${scope} `)) await caches.delete(name);
    show(OFFERED, "Removed.");
  }

  button.addEventListener("click", async () => {
    button.disabled = true;
    if (act === keep) status.textContent = "Fetching …";
    try {
      await act();
    } catch (error) {
      show(act === remove ? KEPT : OFFERED, `That did not work: ${error.message}.`);
    }
  });

  registered().then((found) => {
    if (!found?.active) show(OFFERED, "");
    else if (found.waiting) showNewer();
    else showKept();
    root.hidden = false;
    found?.addEventListener("updatefound", () => {
      const { installing } = found;
      installing.addEventListener("statechange", () => installing.state === "installed" && showNewer());
    });
  });
})();
