import { expect, test } from "vitest";
import { pagesOf, rowsInSight, steppedTop, topToShow } from "./scrolling";

test("at the top the first rows are in sight", () => {
  expect(rowsInSight(0, 400, 40, 5000, 8)).toEqual({ first: 0, end: 18 });
});

test("in the middle a few rows around are kept", () => {
  expect(rowsInSight(4000, 400, 40, 5000, 8)).toEqual({ first: 92, end: 118 });
});

test("a short list is in sight as a whole, an empty one not at all", () => {
  expect(rowsInSight(0, 400, 40, 3)).toEqual({ first: 0, end: 3 });
  expect(rowsInSight(0, 400, 40, 0)).toEqual({ first: 0, end: 0 });
});

test("a list that has become shorter is seen at its end", () => {
  expect(rowsInSight(90000, 400, 40, 100, 2)).toEqual({ first: 88, end: 100 });
});

test("a list is drawn anew every few rows, and what is in sight is always among them", () => {
  expect([0, 100, 159, 160, 1000].map((top) => steppedTop(top, 40))).toEqual([0, 0, 0, 160, 960]);
  for (let top = 0; top < 2000; top += 7) {
    const drawn = rowsInSight(steppedTop(top, 40), 400, 40, 5000),
      seen = rowsInSight(top, 400, 40, 5000, 0);
    expect(drawn.first <= seen.first && drawn.end >= seen.end).toBe(true);
  }
});

test("rows lie on the pages that hold them", () => {
  expect(pagesOf({ first: 95, end: 105 }, 100)).toEqual([0, 1]);
  expect(pagesOf({ first: 0, end: 100 }, 100)).toEqual([0]);
  expect(pagesOf({ first: 5, end: 5 }, 100)).toEqual([]);
});

test("a row out of sight is scrolled to, one in sight stays where it is", () => {
  expect(topToShow(0, 120, 400, 40)).toBe(0);
  expect(topToShow(20, 120, 400, 40)).toBe(440);
  expect(topToShow(5, 120, 400, 40)).toBe(120);
});
