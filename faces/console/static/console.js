// Small helps where scripts run; every page works without them.
"use strict";
(() => {
  // The choice of a language or of an order takes effect without a button.
  document.addEventListener("change", (event) => {
    const field = event.target;
    if (field instanceof HTMLSelectElement && field.form && field.form.hasAttribute("data-submit-on-change")) {
      field.form.requestSubmit();
    }
  });
  // Escape closes what was opened, and the focus goes back to where it was opened.
  document.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && event.target instanceof Element && event.target.closest("details[open]");
    if (open) {
      open.open = false;
      open.querySelector("summary").focus();
    }
  });
})();
