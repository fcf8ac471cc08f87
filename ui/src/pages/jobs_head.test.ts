import { expect, test } from "vitest";
import { directionOf, nextSort } from "./jobs_head";

test("a minus is the most first", () => {
  expect(directionOf("-start", "start")).toBe("descending");
  expect(directionOf("name", "name")).toBe("ascending");
  expect(directionOf("name", "start")).toBe("none");
  expect(directionOf("name", undefined)).toBe("none");
});

test("dates begin with the latest, names with the first, a second click turns", () => {
  expect(nextSort("name", "start")).toBe("-start");
  expect(nextSort("-start", "name")).toBe("name");
  expect(nextSort("-start", "start")).toBe("start");
  expect(nextSort("start", "start")).toBe("-start");
});
