// Makes an existing table sortable: a button in each header cell reorders the rows.

import { type Cell, nextOrder, type Order, sortedIndices } from "./views/sorting";

const MARKS = { ascending: "▲", descending: "▼" } as const;

/** Sort keys of a row: the number behind a cell, or its text. */
function cellsOf(row: HTMLTableRowElement): Cell[] {
  return [...row.cells].map((cell) =>
    cell.dataset.value === undefined ? (cell.textContent ?? "") : Number(cell.dataset.value),
  );
}

export function sortableTable(table: HTMLTableElement): void {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  const body = table.tBodies[0];
  if (heads.length === 0 || !body || body.rows.length < 2) return;
  const rows = [...body.rows];
  const cells = rows.map(cellsOf);
  let order: Order | null = null;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "head";
    button.textContent = head.textContent;
    const mark = document.createElement("span");
    mark.className = "order";
    mark.ariaHidden = "true";
    button.append(mark);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      order = nextOrder(
        order,
        column,
        cells.some((row) => typeof row[column] === "number"),
      );
      body.append(
        ...sortedIndices(cells, order).map((index) => rows[index] as HTMLTableRowElement),
      );
      heads.forEach((header, index) => {
        showOrder(header, index === column ? order : null);
      });
    });
  });
}

function showOrder(head: HTMLTableCellElement, order: Order | null): void {
  if (order) head.setAttribute("aria-sort", order.direction);
  else head.removeAttribute("aria-sort");
  const mark = head.querySelector(".order");
  if (mark) mark.textContent = order ? MARKS[order.direction] : "";
}
