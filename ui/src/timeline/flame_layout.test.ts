import { expect, test } from "vitest";
import {
  type FlameTree,
  frameAt,
  frameOfPath,
  framePath,
  layoutFlame,
  lineageOf,
  neighbor,
  ownerOf,
  searchFlame,
} from "./flame_layout";

/** main 10 = load 6 (read 4), forward 3, self 1. */
const tree: FlameTree = {
  names: ["main", "load", "read", "forward"],
  files: ["", "", "", ""],
  parents: Int32Array.from([-1, 0, 1, 0]),
  totals: Float64Array.from([10, 6, 4, 3]),
  selves: Float64Array.from([1, 2, 4, 3]),
  counts: [10, 6, 4, 3],
};

test("children start at the left edge of their parent", () => {
  const layout = layoutFlame(tree);
  expect([...layout.from]).toEqual([0, 0, 0, 0.6]);
  expect([...layout.to].map((end) => Number(end.toFixed(6)))).toEqual([1, 0.6, 0.4, 0.9]);
  expect([...layout.depth]).toEqual([0, 1, 2, 1]);
  expect([layout.rows, layout.total]).toEqual([3, 10]);
});

test("a point maps to a frame, also when zoomed", () => {
  const layout = layoutFlame(tree);
  expect(frameAt(tree, layout, -1, 0.7, 1)).toBe(3);
  expect(frameAt(tree, layout, -1, 0.95, 1)).toBe(-1);
  expect(frameAt(tree, layout, 1, 0.99, 1)).toBe(1);
  expect(frameAt(tree, layout, 1, 0.6, 2)).toBe(2);
  expect(frameAt(tree, layout, 3, 0.5, 0)).toBe(0);
});

test("arrow keys move to callers, callees and siblings", () => {
  expect(neighbor(tree, 2, "ArrowUp")).toBe(1);
  expect(neighbor(tree, 0, "ArrowDown")).toBe(1);
  expect(neighbor(tree, 1, "ArrowRight")).toBe(3);
  expect(neighbor(tree, 3, "ArrowRight")).toBe(3);
  expect(neighbor(tree, -1, "ArrowDown")).toBe(0);
  expect(lineageOf(tree, 2)).toEqual([0, 1, 2]);
});

test("nested matches count once", () => {
  const result = searchFlame(tree, "A");
  expect([...result.isHit]).toEqual([1, 1, 1, 1]);
  expect(result.share).toBe(1);
  expect(searchFlame(tree, "read").share).toBe(0.4);
  expect(searchFlame(tree, "").share).toBe(0);
});

test("a frame path survives a round trip through the URL", () => {
  for (const frame of [0, 1, 2, 3]) expect(frameOfPath(tree, framePath(tree, frame))).toBe(frame);
  expect(frameOfPath(tree, "")).toBe(-1);
  expect(frameOfPath(tree, "0.9")).toBe(0);
});

test("files are assigned to packages, Python or the user", () => {
  expect(ownerOf("/x/site-packages/torch/nn/modules/linear.py")).toBe("torch");
  expect(ownerOf("/usr/lib/python3.12/json/decoder.py")).toBe("Python");
  expect(ownerOf("/home/me/train.py")).toBe("your code");
  expect(ownerOf("")).toBe("built-in");
});
