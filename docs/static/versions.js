/* Sites of several versions lie side by side, each in a folder of its name, beside versions.json: a list of these names.
   Where it is found, one goes from a page to the same page of another version, or to its first page. */
"use strict";
window.addEventListener("DOMContentLoaded", async () => {
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const found = await fetch(new URL("../versions.json", root)).then((reply) => reply.json()).catch(() => null);
  if (!Array.isArray(found)) return;
  const place = document.querySelector(".versions");
  const here = decodeURIComponent(root.pathname.split("/").at(-2));
  const choice = document.createElement("select");
  choice.ariaLabel = "Version";
  choice.append(...found.map((name) => new Option(name, name, name === here, name === here)));
  choice.addEventListener("change", async () => {
    const other = new URL(`../${choice.value}/`, root);
    const page = new URL(location.href.slice(root.href.length), other);
    const there = await fetch(page, { method: "HEAD" }).catch(() => null);
    location.href = there?.ok ? page : other;
  });
  place.replaceChildren("Version ", choice);
});
