// Charts as data, as `records/chart.py` writes them: one interface per mark.

export type Cell = string | number | boolean | null;
export type Reals = (number | null)[];

interface Picture {
  title: string;
  note: string;
  coarsened: string;
}

export interface Column {
  name: string;
  title: string;
  unit: string;
  is_number: boolean;
  tone: string;
}

export interface TableSpec extends Picture {
  mark: "table";
  columns: Column[];
  rows: Cell[][];
  total: number | null;
  is_quiet?: boolean;
}

export interface Fact {
  name: string;
  title: string;
  value: Cell;
  unit: string;
}

export interface FactsSpec extends Picture {
  mark: "facts";
  facts: Fact[];
}

export interface Curve {
  label: string;
  values: Reals;
  low: Reals | null;
  high: Reals | null;
  tone: string;
  has_markers?: boolean;
}

export interface LineSpec extends Picture {
  mark: "line";
  x: Reals;
  x_title: string;
  x_unit: string;
  unit: string;
  curves: Curve[];
  is_logarithmic: boolean;
  low: number | null;
  high: number | null;
}

export interface Part {
  label: string;
  values: Reals;
  tone: string;
}

export interface BarsSpec extends Picture {
  mark: "bars";
  labels: string[];
  parts: Part[];
  unit: string;
}

export interface StackedBarsSpec extends Picture {
  mark: "stacked_bars";
  labels: string[];
  parts: Part[];
  unit: string;
  is_horizontal: boolean;
}

export interface HistogramSpec extends Picture {
  mark: "histogram";
  edges: Reals;
  parts: Part[];
  unit: string;
  counted: string;
}

export interface Box {
  label: string;
  p5: number;
  p25: number;
  p50: number;
  p75: number;
  p95: number;
  minimum: number;
  maximum: number;
  count: number;
  tone: string;
}

export interface BoxPlotSpec extends Picture {
  mark: "box_plot";
  boxes: Box[];
  unit: string;
  low: number | null;
  high: number | null;
}

export interface HeatmapSpec extends Picture {
  mark: "heatmap";
  rows: string[];
  x: Reals;
  x_title: string;
  x_unit: string;
  values: Reals[];
  unit: string;
  low: number;
  high: number;
  is_logarithmic: boolean;
  columns: string[];
}

export interface LaneSpan {
  start: number;
  end: number;
  label: string;
  tone: string;
}

export interface LanesSpec extends Picture {
  mark: "lanes";
  lanes: { label: string; spans: LaneSpan[] }[];
  start: number;
  end: number;
}

export interface TextSpec extends Picture {
  mark: "text";
  paragraphs: string[];
}

export interface GroupSpec extends Picture {
  mark: "group";
  parts: Spec[];
}

export type Spec =
  | TableSpec
  | FactsSpec
  | LineSpec
  | BarsSpec
  | StackedBarsSpec
  | HistogramSpec
  | BoxPlotSpec
  | HeatmapSpec
  | LanesSpec
  | TextSpec
  | GroupSpec;
