// The order of a table's rows; what is not known comes last, whichever way it is sorted.

export type Cell = string | number | boolean | null | undefined;
export type Direction = "ascending" | "descending";

export interface Order {
  column: number;
  direction: Direction;
}

/** The indices of the rows in their new order; equal ones stay as they were. */
export function sortedIndices(rows: readonly (readonly Cell[])[], order: Order | null): number[] {
  const indices = rows.map((_, index) => index);
  if (order === null) return indices;
  const sign = order.direction === "ascending" ? 1 : -1;
  return indices.sort((one, other) => {
    const [left, right] = [rows[one]?.[order.column], rows[other]?.[order.column]];
    const unknown = Number(isUnknown(left)) - Number(isUnknown(right));
    return unknown || sign * compare(left, right) || one - other;
  });
}

/** What a click on the head of a column asks for: numbers begin with the largest. */
export function nextOrder(order: Order | null, column: number, isNumber: boolean): Order {
  if (order?.column === column) {
    return { column, direction: order.direction === "ascending" ? "descending" : "ascending" };
  }
  return { column, direction: isNumber ? "descending" : "ascending" };
}

function compare(one: Cell, other: Cell): number {
  if (isUnknown(one) || isUnknown(other)) return 0;
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), undefined, { numeric: true });
}

function isUnknown(cell: Cell): boolean {
  return cell === null || cell === undefined || cell === "" || Number.isNaN(cell);
}
