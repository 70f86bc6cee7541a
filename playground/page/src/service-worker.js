// Keeps the files of one version of the page; a new version replaces all of them at once.
const CACHE = "wse-playground-VERSION";
const FILES = [/* FILES */];

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES))
                        .then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(caches.keys().then((names) => Promise.all(
    names.filter((n) => n.startsWith("wse-playground-") && n !== CACHE).map((n) => caches.delete(n))))
    .then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET")
    return;
  event.respondWith(caches.match(event.request, { ignoreSearch: true })
    .then((kept) => kept ?? fetch(event.request)));
});
