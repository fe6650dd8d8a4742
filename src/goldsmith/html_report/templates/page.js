"use strict";
// Everything on the page can be read without this: it adds a filter, sliders, a button to copy, and hints on hover.
for (const element of document.querySelectorAll(".needs-script")) element.hidden = false;

const filter = document.getElementById("filter");
filter?.addEventListener("input", () => {
  const wanted = filter.value.toLowerCase();
  for (const element of document.querySelectorAll("[data-name]")) {
    const shown = element.closest("li, tr") ?? element;
    shown.hidden = !element.dataset.name.toLowerCase().includes(wanted);
  }
});

for (const slider of document.querySelectorAll(".slice input")) {
  const tensor = slider.closest(".tensor");
  const labels = slider.dataset.labels.split("|");
  slider.addEventListener("input", () => {
    for (const picture of tensor.querySelectorAll(".window"))
      picture.style.backgroundPosition = `0 ${(100 * slider.value) / (labels.length - 1)}%`;
    tensor.querySelector(".slice output").textContent = labels[slider.value];
  });
}

for (const button of document.querySelectorAll(".copy"))
  button.addEventListener("click", async () => {
    const text = button.previousElementSibling.textContent;
    await navigator.clipboard?.writeText(text);
    button.textContent = "Copied";
  });

const tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true });
document.body.append(tip);
for (const mark of document.querySelectorAll(".curve .mark")) {
  const show = () => {
    const place = mark.getBoundingClientRect();
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    tip.style.left = `${Math.max(4, Math.min(place.left, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${place.bottom + 6}px`;
  };
  const hide = () => (tip.hidden = true);
  mark.addEventListener("mouseenter", show);
  mark.addEventListener("focus", show);
  mark.addEventListener("mouseleave", hide);
  mark.addEventListener("blur", hide);
}

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = document.createElement("button");
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const compared = (one, two) => key(one).localeCompare(key(two), undefined, { numeric: true });
      body.append(...[...body.rows].sort((one, two) => (up ? compared(one, two) : compared(two, one))));
    });
  });
}
