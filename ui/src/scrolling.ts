// Which rows of a long list are worth having: those in sight and a few around them.

export interface Rows {
  first: number;
  end: number;
}

/** The rows in sight of a list of `total`, with `around` more on both sides. */
export function rowsInSight(
  top: number,
  height: number,
  rowHeight: number,
  total: number,
  around = 8,
): Rows {
  // a list that has become shorter is seen at its end
  const seen = Math.max(0, Math.min(top, total * rowHeight - height));
  const first = Math.floor(seen / rowHeight) - around;
  const end = Math.ceil((seen + height) / rowHeight) + around;
  return { first: Math.max(0, Math.min(first, total)), end: Math.max(0, Math.min(end, total)) };
}

/** Where a list is scrolled to, in steps of a few rows: those in between change nothing that is drawn. */
export function steppedTop(top: number, rowHeight: number, rows = 4): number {
  return Math.floor(top / (rows * rowHeight)) * rows * rowHeight;
}

/** The pages of `size` rows that hold those rows. */
export function pagesOf(rows: Rows, size: number): number[] {
  if (rows.end <= rows.first) return [];
  const first = Math.floor(rows.first / size);
  const last = Math.floor((rows.end - 1) / size);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Where to scroll so that a row is in sight; where it is already, nowhere else. */
export function topToShow(row: number, top: number, height: number, rowHeight: number): number {
  if (row * rowHeight < top) return row * rowHeight;
  if ((row + 1) * rowHeight > top + height) return (row + 1) * rowHeight - height;
  return top;
}
