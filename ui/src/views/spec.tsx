// A chart with its title, note and table view.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Mark } from "../band_drawing";
import type { GroupSpec, Spec } from "../generated/chart_specs";
import { exposeChart } from "../inspect";
import { ChartMenu } from "../sharing/chart_menu";
import { asTable } from "./as_table";
import { MarkView } from "./mark";
import { Table } from "./table";

type Props = {
  spec: Spec;
  name: string;
  title?: string;
  level?: 2 | 3;
  more?: ComponentChildren;
  marks?: readonly Mark[];
};

/** A figure with its heading; `name` identifies it in tests and scripts. */
export function SpecView({
  spec,
  name,
  title = spec.title,
  level = 2,
  more,
  marks,
}: Props): JSX.Element {
  const [isTable, setTable] = useState(false);
  const heading = useId();
  const box = useRef<HTMLElement>(null);
  useEffect(() => exposeChart(name, () => spec), [name, spec]);
  const Heading = `h${level}` as const;
  const table = asTable(spec);
  const data = spec.mark === "table" ? spec : table;
  if (spec.mark === "table" && spec.is_quiet) {
    return (
      <details class="figure" data-chart={name} data-state="ready">
        <summary>{title}</summary>
        <Table spec={spec} />
      </details>
    );
  }
  return (
    <section
      class={`figure mark-${spec.mark}`}
      ref={box}
      data-chart={name}
      data-state="ready"
      aria-labelledby={heading}
    >
      <header>
        <Heading id={heading}>{title}</Heading>
        {more}
        {data && (
          <span class="figure-tools">
            {table && (
              <button
                type="button"
                class="small quiet"
                aria-pressed={isTable}
                onClick={() => setTable(!isTable)}
              >
                Table
              </button>
            )}
            <ChartMenu title={title} box={box} table={() => data} />
          </span>
        )}
      </header>
      {spec.note && <p class="note">{spec.note}</p>}
      {spec.mark === "group" ? (
        <Group spec={spec} name={name} />
      ) : isTable && table ? (
        <Table spec={table} />
      ) : (
        <MarkView spec={spec} marks={marks} />
      )}
      {spec.coarsened && <p class="sub">{spec.coarsened}</p>}
    </section>
  );
}

function Group({ spec, name }: { spec: GroupSpec; name: string }): JSX.Element {
  return (
    <div class="figure-group">
      {spec.parts.map((part, index) => (
        <SpecView key={part.title} spec={part} name={`${name}/${index}`} level={3} />
      ))}
    </div>
  );
}
