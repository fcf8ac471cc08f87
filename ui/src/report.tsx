// Entry point of the report's script. It replaces each static chart by an interactive one when it becomes
// visible, and makes tables sortable. The report is readable without it.

import { render } from "preact";
import { startColors } from "./colors";
import type { Spec } from "./generated/chart_specs";
import { sortableTable } from "./report_tables";
import { startState } from "./state";
import { MarkView } from "./views/mark";
import "./report.css";

/** Renders the interactive version of a figure; the static one is kept for printing. */
export function activateFigure(block: HTMLScriptElement): void {
  const figure = block.closest("figure");
  if (!figure) return;
  const spec = JSON.parse(block.textContent ?? "null") as Spec | null;
  if (!spec) return;
  const container = document.createElement("div");
  container.className = "live";
  figure.insertBefore(container, block);
  render(<MarkView spec={spec} />, container);
  for (const still of figure.querySelectorAll<HTMLElement>(":scope > .static, :scope > .legend"))
    still.hidden = true;
}

function activateWhenVisible(): void {
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        observer.unobserve(target);
        const block = target.querySelector<HTMLScriptElement>("script[data-spec]");
        if (block) activateFigure(block);
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
activateWhenVisible();
for (const table of document.querySelectorAll("table")) sortableTable(table);
