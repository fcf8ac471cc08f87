import { expect, test } from "vitest";
import { intervalChoices, requestBody } from "./monitoring";

test("a custom interval is added to the choices", () => {
  expect(intervalChoices(0.25)).toEqual([0.1, 0.2, 0.25, 0.5, 1, 5, 60]);
  expect(intervalChoices(null)).toEqual([0.1, 0.2, 0.5, 1, 5, 60]);
});

test("choosing an interval turns monitoring on", () => {
  expect(requestBody("off", true)).toEqual({ monitoring: false });
  expect(requestBody("1", true)).toEqual({ interval_seconds: 1 });
  expect(requestBody("1", false)).toEqual({ monitoring: true, interval_seconds: 1 });
});
