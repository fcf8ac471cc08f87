// The figures that say how a job is doing, on top of each of its pages.

import type { JSX } from "preact";
import { cellText } from "./cells";
import { formatValue } from "./format";
import type { FigureDocument } from "./generated/api_types";
import { headline, headlineState } from "./headline";
import { linkTo } from "./router";
import { sparkLabel, sparkPath } from "./sparkline";

const SPARK = { width: 64, height: 20 };

export function HeadlineStrip(): JSX.Element | null {
  const figures = headline.value?.figures;
  if (figures?.length === 0) return null;
  return (
    <section
      class="headline"
      aria-label="Headline figures"
      data-chart="headline"
      data-state={figures ? "ready" : headlineState.value}
    >
      <dl tabIndex={0} aria-label="Headline figures">
        {(figures ?? []).map((figure) => (
          <FigureTile key={figure.name} figure={figure} />
        ))}
      </dl>
    </section>
  );
}

function FigureTile({ figure }: { figure: FigureDocument }): JSX.Element {
  const value = cellText(figure.value, figure.unit);
  return (
    <div data-figure={figure.name} class={`figure-tile ${figure.tone}`}>
      <dt>{figure.title}</dt>
      <dd>
        <b>{value}</b>
        <Spark figure={figure} />
        <span class="sub">
          {figure.finding ? (
            <a href={linkTo("finding", undefined, { id: figure.finding })}>{figure.note}</a>
          ) : (
            figure.note
          )}
        </span>
      </dd>
    </div>
  );
}

function Spark({ figure }: { figure: FigureDocument }): JSX.Element | null {
  const path = sparkPath(figure.curve, SPARK.width - 4, SPARK.height - 4);
  if (!path) return null;
  const label = sparkLabel(figure.title, figure.curve, (value) => formatValue(value, figure.unit));
  return (
    <svg
      class="spark"
      width={SPARK.width}
      height={SPARK.height}
      viewBox={`-2 -2 ${SPARK.width} ${SPARK.height}`}
      role="img"
      aria-label={label}
    >
      <path d={path} />
    </svg>
  );
}
