// A table that sorts when a column header is activated.

import { useState } from "preact/hooks";
import { tableCell } from "../cells";
import { formatCount } from "../format";
import type { Cell, Column, TableSpec } from "../generated/chart_specs";
import { toneColor } from "../tones";
import { nextOrder, type Order, sortedIndices } from "./sorting";

const FIRST_ROWS = 12;
const LONG_TEXT = 48;

/** Rows of values; long tables are collapsed. */
export function Table({ spec, first = FIRST_ROWS }: { spec: TableSpec; first?: number }) {
  const [order, setOrder] = useState<Order | null>(null);
  const [isExpanded, setExpanded] = useState(false);
  const indices = sortedIndices(spec.rows, order);
  const shown = isExpanded || indices.length <= first + 2 ? indices : indices.slice(0, first);
  return (
    <div class="table-box">
      <div class="scroll-x">
        <table>
          <thead>
            <tr>
              {spec.columns.map((column, index) => (
                <Head
                  key={column.name}
                  column={column}
                  direction={order?.column === index ? order.direction : "none"}
                  onSort={() => setOrder(nextOrder(order, index, column.is_number))}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={row}>
                {spec.columns.map((column, index) => (
                  <Value
                    key={column.name}
                    column={column}
                    value={spec.rows[row]?.[index] ?? null}
                    text={tableCell(spec.columns, spec.rows[row] ?? [], index)}
                    tone={toneOf(column, spec.rows[row] ?? [])}
                  />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length < indices.length && (
        <button type="button" class="quiet" onClick={() => setExpanded(true)}>
          Show all {formatCount(indices.length)} rows
        </button>
      )}
      {spec.total !== null && spec.total > spec.rows.length && (
        <p class="sub">
          {formatCount(spec.rows.length)} of {formatCount(spec.total)} rows
        </p>
      )}
    </div>
  );
}

interface HeadProps {
  column: Column;
  direction: "none" | "ascending" | "descending";
  onSort: () => void;
}

function Head({ column, direction, onSort }: HeadProps) {
  const mark = { none: "", ascending: "▲", descending: "▼" }[direction];
  return (
    <th scope="col" class={column.is_number ? "r" : ""} aria-sort={direction}>
      <button type="button" class="head" onClick={onSort}>
        {column.title}
        <span class="order" aria-hidden="true">
          {mark}
        </span>
      </button>
    </th>
  );
}

type ValueProps = { column: Column; value: Cell; text: string; tone: string };

function Value({ column, value, text, tone }: ValueProps) {
  if (!column.is_number) return <td class={text.length > LONG_TEXT ? "text" : "name"}>{text}</td>;
  const share = tone && typeof value === "number" ? Math.min(100, Math.max(0, value)) : null;
  return (
    <td class="r">
      {share !== null && (
        <span class="share" aria-hidden="true">
          <i style={{ width: `${share}%`, background: toneColor(tone, 0) }} />
        </span>
      )}
      {share === null ? text : <span class="share-number">{text}</span>}
    </td>
  );
}

/** The tone of a share bar; in tables of phases, the phase of the row. */
function toneOf(column: Column, row: readonly Cell[]): string {
  return column.tone === "phase" ? String(row[0] ?? "").replaceAll(" ", "_") : column.tone;
}
