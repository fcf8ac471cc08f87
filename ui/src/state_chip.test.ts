import { expect, test } from "vitest";
import { SIGNS, STATES } from "./state_chip";

test("jobs can be filtered by every state", () => {
  const settled = Object.keys(SIGNS).filter((state) => state !== "starting");
  expect(STATES).toEqual(expect.arrayContaining(settled));
  expect(STATES).toContain("broken");
});
