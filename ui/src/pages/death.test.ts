import { expect, test } from "vitest";
import type { ExitDocument } from "../api";
import { deathTitle, endFacts } from "./death";

const exit: ExitDocument = {
  code: 1,
  signal: null,
  reason: "exception",
  message: "ValueError: x",
  traceback: "…",
  worker: 3,
  left_running: [],
};

test("a job that failed says what happened, and in which worker", () => {
  expect(deathTitle({ state: "failed", exit })).toBe("An exception was not caught, in worker 3");
  expect(
    deathTitle({ state: "failed", exit: { ...exit, reason: "host-out-of-memory", worker: null } }),
  ).toMatch(/^Out of memory/);
});

test("one that runs or went well has nothing to say", () => {
  expect(deathTitle({ state: "running", exit: null })).toBeNull();
  expect(deathTitle({ state: "completed", exit: { ...exit, code: 0 } })).toBeNull();
});

test("one of which nobody knows says so", () => {
  expect(deathTitle({ state: "lost", exit: null })).toMatch(/vanished/);
  expect(deathTitle({ state: "failed", exit: null })).toMatch(/Nobody knows/);
});

test("code, signal, worker and what still runs are told", () => {
  const killed = { ...exit, code: 137, signal: "SIGKILL", worker: null, left_running: [7] };
  expect(endFacts(killed)).toEqual([
    ["exit code", "137"],
    ["signal", "SIGKILL"],
    ["still running", "process 7"],
  ]);
});
