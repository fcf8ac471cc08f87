// The report's script begins here; the report is readable without it. It puts the live view in the place of each
// static picture whose data are beside it, when that comes into sight, and lets every table be sorted.

import { render } from "preact";
import { startColors } from "./colors";
import { sortableTable } from "./report_tables";
import type { Spec } from "./specs";
import { startState } from "./state";
import { MarkView } from "./views/mark";
import "./report.css";

/** Draws one figure anew from its data; the static picture stays for the printer. */
export function enliven(block: HTMLScriptElement): void {
  const figure = block.closest("figure");
  if (!figure) return;
  const spec = JSON.parse(block.textContent ?? "null") as Spec | null;
  if (!spec) return;
  const place = document.createElement("div");
  place.className = "live";
  figure.insertBefore(place, block);
  render(<MarkView spec={spec} />, place);
  for (const still of figure.querySelectorAll<HTMLElement>(":scope > .static, :scope > .legend"))
    still.hidden = true;
}

function enlivenInSight(): void {
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        observer.unobserve(target);
        const block = target.querySelector<HTMLScriptElement>("script[data-spec]");
        if (block) enliven(block);
      }
    },
    { rootMargin: "400px" },
  );
  for (const block of document.querySelectorAll("script[data-spec]")) {
    const figure = block.closest("figure");
    if (figure) observer.observe(figure);
  }
}

startState();
startColors();
enlivenInSight();
for (const table of document.querySelectorAll("table")) sortableTable(table);
