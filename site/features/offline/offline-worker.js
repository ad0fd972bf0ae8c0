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
    await cache.addAll(files.map((file) => new Request(file, { cache: "no-cache" }))); // all or none
  } catch (error) {
    await caches.delete(cacheName);
    throw error;
  }
}

async function forgetOthers() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(ours) && name !== cacheName).map((name) => caches.delete(name)));
}

async function answer(request) {
  return (await caches.match(request, { cacheName, ignoreSearch: true, ignoreVary: true })) ?? fetch(request);
}
