// Sorting of table rows; missing values come last in both directions.

export type Cell = string | number | boolean | null | undefined;
export type Direction = "ascending" | "descending";

export interface Order {
  column: number;
  direction: Direction;
}

/** The sorted indices of the rows; the sort is stable. */
export function sortedIndices(rows: readonly (readonly Cell[])[], order: Order | null): number[] {
  const indices = rows.map((_, index) => index);
  if (order === null) return indices;
  const sign = order.direction === "ascending" ? 1 : -1;
  return indices.sort((a, b) => {
    const [left, right] = [rows[a]?.[order.column], rows[b]?.[order.column]];
    const unknown = Number(isUnknown(left)) - Number(isUnknown(right));
    return unknown || sign * compare(left, right) || a - b;
  });
}

/** The order after a click on a column header; numbers start with the largest. */
export function nextOrder(order: Order | null, column: number, isNumber: boolean): Order {
  if (order?.column === column) {
    return { column, direction: order.direction === "ascending" ? "descending" : "ascending" };
  }
  return { column, direction: isNumber ? "descending" : "ascending" };
}

function compare(a: Cell, b: Cell): number {
  if (isUnknown(a) || isUnknown(b)) return 0;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

function isUnknown(cell: Cell): boolean {
  return cell === null || cell === undefined || cell === "" || Number.isNaN(cell);
}
