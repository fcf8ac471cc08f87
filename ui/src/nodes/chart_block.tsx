// A chart with its heading and a table view of the same data.

import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { TableSpec } from "../generated/chart_specs";
import { ChartMenu } from "../sharing/chart_menu";
import { Table } from "../views/table";

type Props = {
  title: string;
  sub?: ComponentChildren;
  controls?: ComponentChildren;
  /** The data of the chart as a table, computed when the table is opened. */
  table: () => TableSpec;
  children: ComponentChildren;
};

export function ChartBlock({ title, sub, controls, table, children }: Props): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLElement>(null);
  return (
    <section class="chart-block" aria-label={title} ref={box}>
      <div class="chart-head">
        <h2>{title}</h2>
        {sub && <span class="sub">{sub}</span>}
        {controls}
        <span class="end">
          <button
            type="button"
            class="quiet faint"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? "Hide table" : "Show table"}
          </button>
          <ChartMenu title={title} box={box} table={table} />
        </span>
      </div>
      {children}
      {isOpen && (
        <div class="twin">
          <Table spec={table()} />
        </div>
      )}
    </section>
  );
}

export function tableSpec(
  title: string,
  columns: TableSpec["columns"],
  rows: TableSpec["rows"],
): TableSpec {
  return {
    mark: "table",
    title,
    note: "",
    coarsened: "",
    columns,
    rows,
    total: null,
    is_quiet: false,
  };
}

export const numberColumn = (title: string, unit: string): TableSpec["columns"][number] => ({
  name: title,
  title,
  unit,
  is_number: true,
  tone: "",
});
export const textColumn = (title: string): TableSpec["columns"][number] => ({
  name: title,
  title,
  unit: "",
  is_number: false,
  tone: "",
});
