/* Read or Lab: the switch in the header, remembered, and the badges behind which Read folds code and measurements. */
(() => {
  const root = document.documentElement;
  const button = document.querySelector(".btn-reading-button");
  if (!button) return;
  const [read, lab] = ["Read", "Lab"].map((word) => {
    const part = document.createElement("span");
    part.textContent = word;
    return part;
  });
  button.replaceChildren(read, " ", lab);
  button.ariaLabel = "Read Lab: all code open"; // begins with what is seen

  function tell() {
    button.ariaPressed = root.dataset.reading === "lab";
  }

  (globalThis.plusx ??= {}).reading = () => {
    root.dataset.reading = root.dataset.reading === "lab" ? "read" : "lab";
    try {
      localStorage.setItem("reading", root.dataset.reading);
    } catch {} // it lasts as long as the page
    tell();
  };
  tell();

  function fold(badge, open) {
    badge.parentElement.classList.toggle("px-shown", open);
    badge.ariaExpanded = open;
  }

  document.querySelector(".bd-article").addEventListener("click", ({ target }) => {
    const badge = target.closest(".px-badge");
    if (badge) fold(badge, badge.ariaExpanded !== "true");
  });

  /* What a link or the search leads to is open. */
  function unfold(node) {
    const badge = node?.closest(".px-fold")?.querySelector(".px-badge");
    const details = node?.closest(".cell details:not([open])");
    if (badge?.checkVisibility()) fold(badge, true);
    if (details) details.open = true;
    return Boolean(badge || details);
  }

  function follow() {
    try {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (unfold(target)) target.scrollIntoView();
    } catch {} // an address that nobody can read
  }

  window.addEventListener("hashchange", follow);
  window.addEventListener("load", () => {
    follow();
    setTimeout(() => document.querySelectorAll(".cell .highlighted").forEach(unfold), 50); // Sphinx marks them after 10
  });
})();
