// The theme before anything is drawn: what the system says, or what was chosen here.
(() => {
  const NAMES = ["auto", "light", "dark"];
  const root = document.documentElement;
  const kept = () => {
    try {
      return localStorage.getItem("clew-theme");
    } catch {
      return null; // a browser that keeps nothing
    }
  };
  let theme = NAMES.includes(kept()) ? kept() : "auto";

  function show() {
    root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (!button) return;
    button.querySelector("span").textContent = theme;
    button.setAttribute("aria-label", `Theme: ${theme}`);
  }

  function next() {
    theme = NAMES[(NAMES.indexOf(theme) + 1) % NAMES.length];
    try {
      localStorage.setItem("clew-theme", theme);
    } catch {
      // then it lasts as long as the page
    }
    show();
  }

  show();
  addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", next);
    show();
  });
})();
