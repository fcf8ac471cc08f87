// The drawing of a chart by its mark.

import type { JSX } from "preact";
import type { Mark } from "../band_drawing";
import type { Spec } from "../generated/chart_specs";
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

type Props = { spec: Spec; marks?: readonly Mark[] | undefined };

/** The view of a mark; null for groups. */
export function MarkView({ spec, marks }: Props): JSX.Element | null {
  switch (spec.mark) {
    case "table":
      return <Table spec={spec} />;
    case "facts":
      return <Facts spec={spec} />;
    case "line":
      return <StepsLine spec={spec} {...(marks ? { marks } : {})} />;
    case "bars":
      return <Bars spec={spec} />;
    case "stacked_bars":
      return <StackedBars spec={spec} />;
    case "histogram":
      return <Histogram spec={spec} />;
    case "box_plot":
      return <BoxPlot spec={spec} />;
    case "heatmap":
      return <Heatmap spec={spec} />;
    case "lanes":
      return <Lanes spec={spec} />;
    case "text":
      return <Sentences spec={spec} />;
    default:
      return null;
  }
}
