/* Pictures are enlarged by a click. Tables that are wider than their place, or that have more than two columns and a row of many lines, get a label on each
   cell, with which a narrow screen shows them row by row. */
"use strict";
const MOST = 5; // em, three lines
function squeezed(row) {
  return row.cells.length > 2 && row.offsetHeight > MOST * parseFloat(getComputedStyle(row).fontSize);
}
function stack() {
  for (const wrapper of document.querySelectorAll(".table-wrapper:not(.stack)")) {
    const rows = [...wrapper.querySelectorAll("tbody tr")];
    if (wrapper.scrollWidth <= wrapper.clientWidth && !rows.some(squeezed)) continue;
    const heads = [...wrapper.querySelectorAll("thead th")].map((head) => head.textContent);
    for (const row of rows) {
      [...row.cells].forEach((cell, k) => {
        if (!cell.textContent.trim()) cell.classList.add("none");
        else if ((k || /^[\d.]+$/.test(cell.textContent.trim())) && heads[k]) cell.dataset.label = `${heads[k]}: `;
      });
    }
    if (rows[0]?.cells.length > 6) wrapper.classList.add("wide");
    wrapper.classList.add("stack");
  }
}
window.addEventListener("DOMContentLoaded", () => {
  stack();
  for (const text of document.querySelectorAll(".highlight pre")) {
    const columns = text.closest(".highlight-text") && /\S {3,}\S/.test(text.textContent);
    if (columns || /[│┃]/.test(text.textContent)) text.classList.add("table");
  }
  for (const picture of document.querySelectorAll("article p > img")) {
    picture.addEventListener("click", () => picture.classList.toggle("large"));
  }
});
window.addEventListener("resize", stack);
