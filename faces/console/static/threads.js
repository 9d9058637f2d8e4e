// The slider of revisions and its field say the same; both work without this.
"use strict";
(() => {
  document.addEventListener("input", (event) => {
    const field = event.target;
    if (!(field instanceof HTMLInputElement)) return;
    const other = document.getElementById(field.dataset.number || field.dataset.slide || "");
    if (other instanceof HTMLInputElement) other.value = field.value;
  });
  document.addEventListener("change", (event) => {
    const field = event.target;
    if (field instanceof HTMLInputElement && field.dataset.number && field.form) field.form.requestSubmit();
  });
})();
