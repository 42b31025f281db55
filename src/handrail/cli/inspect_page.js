"use strict";
const rows = [...document.querySelectorAll(".row")];
const search = document.getElementById("search");
const shown = document.getElementById("shown");
const boxes = [...document.querySelectorAll(".tools input[type=checkbox]")];
const texts = new Map();

function textOf(row) {
  if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
  return texts.get(row);
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const on = Object.fromEntries(boxes.map((box) => [box.name, box.checked]));
  let count = 0;
  for (const row of rows) {
    const hidden =
      !on[row.dataset.dir] ||
      (!on.stream && row.dataset.type === "stream_event") ||
      (on.problems && !row.classList.contains("flagged")) ||
      !words.every((word) => textOf(row).includes(word));
    row.hidden = hidden;
    if (!hidden) count += 1;
  }
  shown.textContent = count === rows.length ? `${count} lines` : `${count} of ${rows.length} lines`;
}

function layOut(row) {
  const pre = row.querySelector("pre");
  if (!row.open || !pre || pre.dataset.done) return;
  pre.dataset.done = "yes";
  textOf(row);
  try {
    pre.textContent = JSON.stringify(JSON.parse(pre.textContent), null, 2);
  } catch {
    // not JSON: it stays as it was
  }
}

search.addEventListener("input", filter);
for (const box of boxes) box.addEventListener("change", filter);
for (const row of rows) row.addEventListener("toggle", () => layOut(row));
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) {
    event.preventDefault();
    search.focus();
  }
});
filter();
