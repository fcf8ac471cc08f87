import { expect, test } from "vitest";
import { pagesOf, steppedTop, topToShow, visibleRows } from "./scrolling";

test("the first rows are visible at the top", () => {
  expect(visibleRows(0, 400, 40, 5000, 8)).toEqual({ first: 0, end: 18 });
});

test("a few rows around the visible ones are rendered", () => {
  expect(visibleRows(4000, 400, 40, 5000, 8)).toEqual({ first: 92, end: 118 });
});

test("short lists are rendered completely, and empty lists have no rows", () => {
  expect(visibleRows(0, 400, 40, 3)).toEqual({ first: 0, end: 3 });
  expect(visibleRows(0, 400, 40, 0)).toEqual({ first: 0, end: 0 });
});

test("a list that has become shorter shows its end", () => {
  expect(visibleRows(90000, 400, 40, 100, 2)).toEqual({ first: 88, end: 100 });
});

test("stepped scrolling re-renders every few rows and always covers the visible rows", () => {
  expect([0, 100, 159, 160, 1000].map((top) => steppedTop(top, 40))).toEqual([0, 0, 0, 160, 960]);
  for (let top = 0; top < 2000; top += 7) {
    const drawn = visibleRows(steppedTop(top, 40), 400, 40, 5000),
      visible = visibleRows(top, 400, 40, 5000, 0);
    expect(drawn.first <= visible.first && drawn.end >= visible.end).toBe(true);
  }
});

test("rows are mapped to the pages that contain them", () => {
  expect(pagesOf({ first: 95, end: 105 }, 100)).toEqual([0, 1]);
  expect(pagesOf({ first: 0, end: 100 }, 100)).toEqual([0]);
  expect(pagesOf({ first: 5, end: 5 }, 100)).toEqual([]);
});

test("only rows outside the viewport are scrolled into view", () => {
  expect(topToShow(0, 120, 400, 40)).toBe(0);
  expect(topToShow(20, 120, 400, 40)).toBe(440);
  expect(topToShow(5, 120, 400, 40)).toBe(120);
});
