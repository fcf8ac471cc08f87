import { expect, test } from "vitest";
import { changeFor, intervalChoices, intervalWords } from "./monitoring";

test("an interval that is not offered is shown among the others", () => {
  expect(intervalChoices(0.25)).toEqual([0.1, 0.2, 0.25, 0.5, 1, 5, 60]);
  expect(intervalChoices(null)).toEqual([0.1, 0.2, 0.5, 1, 5, 60]);
});

test("intervals read as people say them", () => {
  expect([0.1, 0.5, 1, 5, 60].map(intervalWords)).toEqual([
    "100 ms",
    "500 ms",
    "1 s",
    "5 s",
    "1 min",
  ]);
});

test("monitoring that is off is switched on with its interval", () => {
  expect(changeFor("off", true)).toEqual({ monitoring: false });
  expect(changeFor("1", true)).toEqual({ interval_seconds: 1 });
  expect(changeFor("1", false)).toEqual({ monitoring: true, interval_seconds: 1 });
});
