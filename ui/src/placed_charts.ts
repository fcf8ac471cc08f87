// The charts of the Overview page by section, in the order of the server's list.

import type { ChartEntry, OverviewPlace, OverviewSection } from "./generated/api_types";

export type PlacedChart = { name: string; place: OverviewPlace };
export type SectionOfCharts = { title: OverviewSection; charts: PlacedChart[] };

export function sectionsOf(charts: readonly ChartEntry[]): SectionOfCharts[] {
  const sections = new Map<OverviewSection, PlacedChart[]>();
  for (const { name, overview: place } of charts)
    if (place)
      sections.set(place.section, [...(sections.get(place.section) ?? []), { name, place }]);
  return [...sections].map(([title, placed]) => ({ title, charts: placed }));
}

/** Splits a section into grids: a wide chart is alone, the charts between wide ones share a grid. */
export function rowsOf(charts: readonly PlacedChart[]): PlacedChart[][] {
  const rows: PlacedChart[][] = [];
  for (const chart of charts) {
    const last = rows.at(-1);
    if (last && chart.place.size !== "wide" && last[0]!.place.size !== "wide") last.push(chart);
    else rows.push([chart]);
  }
  return rows;
}
