// A sortable table whose rows can be selected.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { formatCount } from "../format";
import { type Cell, nextOrder, type Order, sortedIndices } from "../views/sorting";

export type PickColumn<Row> = {
  title: string;
  isNumber?: boolean;
  value: (row: Row) => Cell;
  show?: (row: Row) => ComponentChildren;
};
type Props<Row> = {
  label: string;
  columns: readonly PickColumn<Row>[];
  rows: readonly Row[];
  first?: number;
  /** Handles a click on the first cell; without it, rows cannot be selected. */
  onPick?: (row: Row) => void;
  isPicked?: (row: Row) => boolean;
};

export function PickTable<Row>({
  label,
  columns,
  rows,
  first = 15,
  onPick,
  isPicked,
}: Props<Row>): JSX.Element {
  const [order, setOrder] = useState<Order | null>(null);
  const [isExpanded, setExpanded] = useState(false);
  const indices = sortedIndices(
    rows.map((row) => columns.map((column) => column.value(row))),
    order,
  );
  const shown = isExpanded || indices.length <= first + 3 ? indices : indices.slice(0, first);
  return (
    <div class="pick-table">
      <div class="scroll-x" role="region" aria-label={label} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {columns.map((column, i) => (
                <th
                  key={column.title}
                  scope="col"
                  class={column.isNumber ? "r" : ""}
                  aria-sort={order?.column === i ? order.direction : "none"}
                >
                  <button
                    type="button"
                    class="head"
                    onClick={() => setOrder(nextOrder(order, i, column.isNumber ?? false))}
                  >
                    {column.title}
                    <span aria-hidden="true">
                      {order?.column === i ? (order.direction === "ascending" ? " ▲" : " ▼") : ""}
                    </span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((index) => {
              const row = rows[index]!;
              return (
                <tr key={index} class={isPicked?.(row) ? "picked" : ""}>
                  {columns.map((column, i) => {
                    const content = column.show ? column.show(row) : column.value(row);
                    return (
                      <td key={column.title} class={column.isNumber ? "r" : "name"}>
                        {i === 0 && onPick ? (
                          <button
                            type="button"
                            class="pick"
                            aria-pressed={isPicked?.(row) ?? false}
                            onClick={() => onPick(row)}
                          >
                            {content}
                          </button>
                        ) : (
                          content
                        )}
                      </td>
                    );
                  })}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {shown.length < indices.length && (
        <button type="button" class="quiet" onClick={() => setExpanded(true)}>
          Show all {formatCount(indices.length)} rows
        </button>
      )}
    </div>
  );
}
