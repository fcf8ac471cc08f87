import { expect, test } from "vitest";
import type { ChartEntry, ChartSize, OverviewSection } from "./generated/api_types";
import { rowsOf, sectionsOf } from "./placed_charts";

function entry(name: string, section?: OverviewSection, size: ChartSize = "half"): ChartEntry {
  const place = { order: 1, size, title: null, empty: null };
  return {
    name,
    title: name,
    question: "",
    overview: section ? { ...place, section } : null,
    section: "",
    takes_node: false,
    takes_worker: false,
    takes_steps: false,
  };
}

const names = (charts: readonly { name: string }[]) => charts.map(({ name }) => name);

test("charts are grouped by section in the order of the list", () => {
  const sections = sectionsOf([
    entry("losses", "Training"),
    entry("anything new", "Training"),
    entry("resources", "Resources"),
    entry("method"),
  ]);
  expect(sections.map(({ title, charts }) => [title, names(charts)])).toEqual([
    ["Training", ["losses", "anything new"]],
    ["Resources", ["resources"]],
  ]);
});

test("a wide chart has a row of its own; the charts between wide ones share a grid", () => {
  const [section] = sectionsOf([
    entry("a", "Resources", "wide"),
    entry("b", "Resources"),
    entry("c", "Resources", "tall"),
    entry("d", "Resources", "wide"),
    entry("e", "Resources", "wide"),
    entry("f", "Resources"),
  ]);
  expect(rowsOf(section!.charts).map(names)).toEqual([["a"], ["b", "c"], ["d"], ["e"], ["f"]]);
});
