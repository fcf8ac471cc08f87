import { expect, test } from "vitest";
import { isComplete, replyMessage } from "./request";

const done = { done: true, message: "samples every 100 ms" };

test("equal replies are grouped", () => {
  expect(replyMessage({ replies: { a: done, b: done }, waiting: [] })).toBe(
    "a, b: samples every 100 ms",
  );
});

test("missing replies are listed by name", () => {
  expect(replyMessage({ replies: { a: done }, waiting: ["b"] })).toBe(
    "a: samples every 100 ms; b: no reply yet",
  );
});

test("long lists of names are shortened", () => {
  const replies = Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, done]));
  expect(replyMessage({ replies, waiting: [] })).toBe("a, b and 2 more: samples every 100 ms");
});

test("a request is complete when all recipients carried it out", () => {
  expect(isComplete({ replies: { a: done }, waiting: [] })).toBe(true);
  expect(isComplete({ replies: { a: done }, waiting: ["b"] })).toBe(false);
  expect(isComplete({ replies: { a: { done: false, message: "no" } }, waiting: [] })).toBe(false);
  expect(isComplete({ replies: {}, waiting: [] })).toBe(false);
});
