/* A button beside each id that takes it along. Without scripts one click selects the id. */
(() => {
  "use strict";
  if (!navigator.clipboard) return;
  function add(code) {
    if (code.nextElementSibling?.classList.contains("copy")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy quiet";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${code.dataset.copy}`);
    button.addEventListener("click", async () => {
      let done = "Copied";
      try { await navigator.clipboard.writeText(code.textContent); } catch { done = "Select it"; }
      button.textContent = done;
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    code.after(button);
  }
  const all = () => document.querySelectorAll("code[data-copy]").forEach(add);
  document.addEventListener("DOMContentLoaded", all);
  document.addEventListener("htmx:load", all);
})();
