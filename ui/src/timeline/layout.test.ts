import { expect, test } from "vitest";
import {
  busyShare,
  coveredAt,
  firstHitFrom,
  fitting,
  HEAD,
  LANE,
  laneAt,
  layoutTracks,
  nextHit,
  shortName,
  sliceAt,
  spotAfter,
  windowAround,
} from "./layout";
import { formatSlicePath, parseSlicePath, type Track } from "./source";

function track(
  title: string,
  slices: [number, number, number][],
  covered: number[] | null = null,
): Track {
  return {
    title,
    lanes: Math.max(1, ...slices.map(([, , lane]) => lane + 1)),
    count: slices.length,
    narrow: 0,
    starts: Float64Array.from(slices, ([start]) => start),
    seconds: Float32Array.from(slices, ([, seconds]) => seconds),
    lane: Uint16Array.from(slices, ([, , lane]) => lane),
    name: new Uint32Array(slices.length),
    category: new Uint8Array(slices.length),
    covered: covered ? Uint8Array.from(covered) : null,
    coveredNames: null,
  };
}

test("tracks are stacked, and collapsed tracks are thin", () => {
  const two = [
    track("phases", [[0, 1, 0]]),
    track("thread", [
      [0, 1, 0],
      [0, 1, 2],
    ]),
  ];
  const { placed, height } = layoutTracks(two, new Set());
  expect(placed.map((entry) => entry.top)).toEqual([0, HEAD + LANE + 5]);
  expect(height).toBe(2 * HEAD + 4 * LANE + 10);
  expect(layoutTracks(two, new Set(["thread"])).height).toBeLessThan(height);
  expect(layoutTracks([track("nothing", [])], new Set()).height).toBe(HEAD + 5);
});

test("a vertical position maps to a track and a lane or its title", () => {
  const { placed } = layoutTracks([track("a", [[0, 1, 1]]), track("b", [[0, 1, 0]])], new Set());
  expect(laneAt(placed, 3)).toMatchObject({ lane: -1 });
  expect(laneAt(placed, HEAD + LANE + 1)).toMatchObject({
    lane: 1,
    placed: { track: { title: "a" } },
  });
  expect(laneAt(placed, HEAD + 2 * LANE + 2)).toBeNull();
  expect(laneAt(placed, 9999)).toBeNull();
});

test("a point finds the slice of its lane or a nearby one", () => {
  const sample = track("a", [
    [0, 10, 0],
    [2, 1, 1],
    [5, 1, 1],
  ]);
  expect(sliceAt(sample, 1, 2.5, 0)).toBe(1);
  expect(sliceAt(sample, 1, 4, 0.1)).toBe(-1);
  expect(sliceAt(sample, 1, 4.9, 0.2)).toBe(2);
  expect(sliceAt(sample, 0, 9, 0)).toBe(0);
});

test("narrow slices count as a share of the time", () => {
  const sample = track("a", [[0, 2, 0]], [0, 0, 250, 125]);
  expect(coveredAt(sample, 4, [0, 8], 0, 5)).toBe(1);
  expect(coveredAt(sample, 4, [0, 8], 0, 7)).toBe(0.5);
  expect(busyShare(sample, 4, [0, 8], [0, 8])).toBeCloseTo((2 + 2 + 1) / 8);
  expect(busyShare(sample, 4, [0, 8], [0, 2])).toBe(1);
});

test("navigation between hits wraps around", () => {
  expect(nextHit([1, 2, 3], -1, 1)).toBe(0);
  expect(nextHit([1, 2, 3], 2, 1)).toBe(0);
  expect(nextHit([1, 2, 3], 0, -1)).toBe(2);
  expect(nextHit([], 0, 1)).toBe(-1);
  expect(firstHitFrom([1, 5, 9], 4)).toBe(1);
  expect(firstHitFrom([1, 5, 9], 10)).toBe(0);
});

test("the window changes only if the hit is not clearly visible", () => {
  expect(windowAround(4, 1, [0, 10])).toEqual([0, 10]);
  expect(windowAround(4, 0.001, [0, 10])).toEqual([4.0005 - 0.0025, 4.0005 + 0.0025]);
  expect(windowAround(40, 1, [0, 10])).toEqual([35.5, 45.5]);
});

test("names are truncated to the available width", () => {
  expect(fitting("forward", 100)).toBe("forward");
  expect(fitting("forward", 39)).toBe("forw…");
  expect(fitting("forward", 10)).toBe("");
});

test("template and function arguments of kernels are omitted", () => {
  expect(shortName("void at::native::kernel<at::F<float>, 3>(int, at::F)")).toBe("kernel<…>");
  expect(shortName("void (anonymous namespace)::norm<float>(int)")).toBe("norm<…>");
  expect(shortName("aten::mm")).toBe("aten::mm");
  expect(shortName("step (2)")).toBe("step (2)");
});

test("a slice path survives a round trip through the URL", () => {
  const slicePath = { worker: 1, track: "cuda:0 stream 7/x", lane: 2, at: 0.000012 };
  expect(parseSlicePath(formatSlicePath(slicePath))).toEqual(slicePath);
  expect(parseSlicePath("nonsense")).toBeNull();
});

test("keys move along a lane and to the lanes above and below", () => {
  const { placed } = layoutTracks(
    [
      track("phases", [
        [0, 4, 0],
        [4, 4, 0],
      ]),
      track("thread", [
        [0, 8, 0],
        [5, 1, 1],
        [7, 1, 1],
      ]),
    ],
    new Set(),
  );
  const first = spotAfter(placed, null, "]");
  expect(first).toEqual({ title: "phases", lane: 0, index: 0 });
  const second = spotAfter(placed, first, "]");
  expect(second).toEqual({ title: "phases", lane: 0, index: 1 });
  expect(spotAfter(placed, second, "]")).toEqual(second);
  const below = spotAfter(placed, second, "j");
  expect(below).toEqual({ title: "thread", lane: 0, index: 0 });
  expect(spotAfter(placed, below, "j")).toMatchObject({ title: "thread", lane: 1 });
  expect(spotAfter(placed, below, "k")).toMatchObject({ title: "phases" });
  expect(spotAfter([], null, "j")).toBeNull();
});
