import { describe, expect, it } from "vitest";
import { frameOf } from "../fakes/frames";
import { decodeFrame } from "../frames";
import { decodeFleet, fleetOrder, fleetRowHeight, toCodes } from "./fleet_data";
import {
  codeExtent,
  type Heat,
  heatAt,
  paintCodes,
  parseColor,
  rampTable,
  rowMeans,
} from "./heat_image";

const heat: Heat = {
  rows: 2,
  columns: 4,
  start: 10,
  width: 2,
  codes: new Uint8Array([0, 100, 200, 255, 20, 20, 20, 20]),
};

describe("a heatmap", () => {
  it("returns the value of a cell", () => {
    expect(heatAt(heat, 0, 12.5)).toBe(50);
    expect(heatAt(heat, 0, 17)).toBeNaN();
    expect(heatAt(heat, 0, 9)).toBeNaN();
    expect(heatAt(heat, 2, 12)).toBeNaN();
  });

  it("averages rows in a window, ignoring missing values", () => {
    expect([...rowMeans(heat, 10, 18)]).toEqual([50, 10]);
    expect([...rowMeans(heat, 12, 14)]).toEqual([50, 10]);
  });

  it("is painted with a color ramp and a special color for missing values", () => {
    const table = rampTable(
      [
        [0, 0, 0],
        [255, 0, 0],
      ],
      [1, 2, 3],
    );
    const pixels = new Uint32Array(8);
    paintCodes(heat, [1, 0], table, pixels);
    expect(pixels[4]).toBe(0xff000000);
    expect(pixels[6]! & 255).toBe(255);
    expect(pixels[7]).toBe(0xff030201);
    expect(parseColor("#2a78d6")).toEqual([42, 120, 214]);
  });

  it("can be scaled to the range of its data", () => {
    expect(codeExtent(heat.codes)).toEqual([0, 200]);
    expect(codeExtent(new Uint8Array([255, 50, 90]))).toEqual([50, 90]);
    expect(codeExtent(new Uint8Array([255]))).toEqual([0, 200]);
  });
});

describe("a fleet", () => {
  const ranking = [
    {
      node: "b",
      reason: "55%, median of all nodes 92%",
      mean: 55,
      state: null,
      is_outlier: true,
    },
    { node: "a", reason: null, mean: 92, state: null, is_outlier: false },
  ];
  const columns = { start: 1000, width: 5, count: 2 };
  const rows = [{ node: "a" }, { node: "b" }];

  it("in percent is sent as codes", () => {
    const header = {
      metric: "gpu",
      unit: "percent",
      columns,
      rows,
      ranking,
      values: { offset: 0, length: 4, type: "u8", scale: 0.5 },
    };
    const fleet = decodeFleet(
      decodeFrame(frameOf(header, new Uint8Array([180, 190, 110, 255, 0, 0, 0, 0]))),
      900,
    );
    expect(fleet.heat.start).toBe(100);
    expect([...fleet.heat.codes]).toEqual([180, 190, 110, 255]);
    expect(fleetOrder(fleet, true)).toEqual([1, 0]);
    expect(fleetOrder(fleet, false)).toEqual([0, 1]);
  });

  it("in another unit is scaled to its highest value", () => {
    expect([...toCodes(new Float32Array([0, 50, 100, NaN]), 100)]).toEqual([0, 100, 200, 255]);
  });

  it("of a thousand nodes has one pixel per node", () => {
    expect(fleetRowHeight(8)).toBe(18);
    expect(fleetRowHeight(1000)).toBe(1);
    expect(fleetRowHeight(4000) * 4000).toBe(1000);
  });
});
