import { expect, test } from "vitest";
import { directionOf, nextSort } from "./jobs_head";

test("a minus sign means descending order", () => {
  expect(directionOf("-start", "start")).toBe("descending");
  expect(directionOf("name", "name")).toBe("ascending");
  expect(directionOf("name", "start")).toBe("none");
  expect(directionOf("name", undefined)).toBe("none");
});

test("dates start with the latest, names with the first, and a second click reverses the order", () => {
  expect(nextSort("name", "start")).toBe("-start");
  expect(nextSort("-start", "name")).toBe("name");
  expect(nextSort("-start", "start")).toBe("start");
  expect(nextSort("start", "start")).toBe("-start");
});
