// Any picture: its title, its sentence, itself, and the same as a table for who does not see it.

import { type ComponentChildren, Fragment } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { exposeChart } from "../inspect";
import type { GroupSpec, Spec } from "../specs";
import { asTable } from "./as_table";
import { Bars } from "./bars";
import { BoxPlot } from "./box_plot";
import { Facts } from "./facts";
import { Heatmap } from "./heatmap";
import { Histogram } from "./histogram";
import { Lanes } from "./lanes";
import { StackedBars } from "./stacked_bars";
import { StepsLine } from "./steps_line";
import { Table } from "./table";
import { Sentences } from "./text";
import "./views.css";

type Props = { spec: Spec; name: string; title?: string; level?: 2 | 3; more?: ComponentChildren };

/** A figure with its heading; `name` is how tests and people who script find it. */
export function SpecView({ spec, name, title = spec.title, level = 2, more }: Props) {
  const [isTable, setTable] = useState(false);
  const heading = useId();
  useEffect(() => exposeChart(name, () => spec), [name, spec]);
  const Heading = `h${level}` as const;
  const twin = asTable(spec);
  return (
    <section class={`figure mark-${spec.mark}`} data-chart={name} data-state="ready" aria-labelledby={heading}>
      <header>
        <Heading id={heading}>{title}</Heading>
        {more}
        {twin && (
          <button type="button" class="small quiet" aria-pressed={isTable} onClick={() => setTable(!isTable)}>as table</button>
        )}
      </header>
      {spec.note && <p class="note">{spec.note}</p>}
      {isTable && twin ? <Table spec={twin} /> : <Mark spec={spec} name={name} level={level} />}
      {spec.coarsened && <p class="sub">{spec.coarsened}</p>}
    </section>
  );
}

function Mark({ spec, name, level }: { spec: Spec; name: string; level: 2 | 3 }) {
  switch (spec.mark) {
    case "table": return <Table spec={spec} />;
    case "facts": return <Facts spec={spec} />;
    case "line": return <StepsLine spec={spec} />;
    case "bars": return <Bars spec={spec} />;
    case "stacked_bars": return <StackedBars spec={spec} />;
    case "histogram": return <Histogram spec={spec} />;
    case "box_plot": return <BoxPlot spec={spec} />;
    case "heatmap": return <Heatmap spec={spec} />;
    case "lanes": return <Lanes spec={spec} />;
    case "text": return <Sentences spec={spec} />;
    case "group": return <Group spec={spec} name={name} level={level} />;
    default: return <Fragment />;
  }
}

function Group({ spec, name }: { spec: GroupSpec; name: string; level: 2 | 3 }) {
  return (
    <div class="figure-group">
      {spec.parts.map((part, index) => <SpecView key={part.title} spec={part} name={`${name}/${index}`} level={3} />)}
    </div>
  );
}
