// Virtual scrolling: which rows of a long list to render.

export interface Rows {
  first: number;
  end: number;
}

/** The visible rows of a list of `total`, with `around` more on both sides. */
export function visibleRows(
  top: number,
  height: number,
  rowHeight: number,
  total: number,
  around = 8,
): Rows {
  // a list that has become shorter shows its end
  const clamped = Math.max(0, Math.min(top, total * rowHeight - height));
  const first = Math.floor(clamped / rowHeight) - around;
  const end = Math.ceil((clamped + height) / rowHeight) + around;
  return { first: Math.max(0, Math.min(first, total)), end: Math.max(0, Math.min(end, total)) };
}

/** The scroll position in steps of a few rows, so that small scrolls do not re-render the list. */
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

/** The scroll position that makes a row visible; unchanged if it is visible already. */
export function topToShow(row: number, top: number, height: number, rowHeight: number): number {
  if (row * rowHeight < top) return row * rowHeight;
  if ((row + 1) * rowHeight > top + height) return (row + 1) * rowHeight - height;
  return top;
}
