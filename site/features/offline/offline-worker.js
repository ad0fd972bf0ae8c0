/*
 * Keeps one edition of the book whole, and answers from it. The build writes `edition` and `files` above.
 * A new edition is fetched when a reader comes by with a network, and takes over once no page of the old one is open.
 */
const ours = `plusx ${registration.scope} `;
const cacheName = ours + edition;

addEventListener("install", (event) => event.waitUntil(keepAll()));
addEventListener("activate", (event) => event.waitUntil(Promise.all([forgetOthers(), clients.claim()])));
addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && url.startsWith(registration.scope)) event.respondWith(answer(event.request));
});

async function keepAll() {
  const cache = await caches.open(cacheName);
  try {
    await Promise.all(files.map((file) => keep(cache, file))); // all or none
  } catch (error) {
    await caches.delete(cacheName);
    throw error;
  }
}

async function keep(cache, file) {
  const answer = await fetch(file, { cache: "no-cache" });
  if (!answer.ok) throw new Error(`${file}: ${answer.status}`);
  // Some hosts send `a.html` on to `a`, and no page may be opened by an answer that was sent on.
  await cache.put(file, answer.redirected ? new Response(answer.body, { headers: answer.headers }) : answer);
}

async function forgetOthers() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(ours) && name !== cacheName).map((name) => caches.delete(name)));
}

async function answer(request) {
  const { origin, pathname } = new URL(request.url);
  const find = (address) => caches.match(address, { cacheName, ignoreSearch: true, ignoreVary: true });
  const page = () => (request.mode === "navigate" ? find(`${origin}${pathname}.html`) : undefined);
  return (await find(request)) ?? (await page()) ?? fetch(request);
}
