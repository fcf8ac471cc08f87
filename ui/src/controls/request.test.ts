import { expect, test } from "vitest";
import { isDone, replyWords } from "./request";

const done = { done: true, message: "samples every 100 ms" };

test("those who say the same say it together", () => {
  expect(replyWords({ replies: { a: done, b: done }, waiting: [] })).toBe(
    "a, b: samples every 100 ms",
  );
});

test("who has not answered is named", () => {
  expect(replyWords({ replies: { a: done }, waiting: ["b"] })).toBe(
    "a: samples every 100 ms; b: no answer yet",
  );
});

test("many names are counted", () => {
  const replies = Object.fromEntries(["a", "b", "c", "d"].map((name) => [name, done]));
  expect(replyWords({ replies, waiting: [] })).toBe("a, b and 2 more: samples every 100 ms");
});

test("it is done when all have done it", () => {
  expect(isDone({ replies: { a: done }, waiting: [] })).toBe(true);
  expect(isDone({ replies: { a: done }, waiting: ["b"] })).toBe(false);
  expect(isDone({ replies: { a: { done: false, message: "no" } }, waiting: [] })).toBe(false);
  expect(isDone({ replies: {}, waiting: [] })).toBe(false);
});
