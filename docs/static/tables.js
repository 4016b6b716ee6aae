/* Tables that are wider than their place get a label on each cell, with which a narrow screen shows them row by row. */
"use strict";
function stack() {
  for (const wrapper of document.querySelectorAll(".table-wrapper:not(.stack)")) {
    if (wrapper.scrollWidth <= wrapper.clientWidth) continue;
    const heads = [...wrapper.querySelectorAll("thead th")].map((head) => head.textContent);
    for (const row of wrapper.querySelectorAll("tbody tr")) {
      [...row.cells].forEach((cell, k) => {
        if (!cell.textContent.trim()) cell.classList.add("none");
        else if (k && heads[k]) cell.dataset.label = `${heads[k]}: `;
      });
    }
    wrapper.classList.add("stack");
  }
}
window.addEventListener("DOMContentLoaded", stack);
window.addEventListener("resize", stack);
