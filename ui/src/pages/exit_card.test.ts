import { expect, test } from "vitest";
import type { ExitDocument } from "../api";
import { exitFacts, exitTitle } from "./exit_card";

const exit: ExitDocument = {
  code: 1,
  signal: null,
  reason: "exception",
  message: "ValueError: x",
  traceback: "…",
  worker: 3,
  left_running: [],
};

test("a failed job shows the reason and the worker", () => {
  expect(exitTitle({ state: "failed", exit })).toBe("Uncaught exception in worker 3");
  expect(
    exitTitle({ state: "failed", exit: { ...exit, reason: "host-out-of-memory", worker: null } }),
  ).toMatch(/^Out of host memory/);
});

test("running and completed jobs have no failure card", () => {
  expect(exitTitle({ state: "running", exit: null })).toBeNull();
  expect(exitTitle({ state: "completed", exit: { ...exit, code: 0 } })).toBeNull();
});

test("lost jobs and unknown reasons are reported as such", () => {
  expect(exitTitle({ state: "lost", exit: null })).toMatch(/^Lost contact with the launcher/);
  expect(exitTitle({ state: "failed", exit: null })).toMatch(/unknown reason/);
});

test("exit code, signal and remaining processes are listed", () => {
  const killed = {
    ...exit,
    code: 137,
    signal: "SIGKILL",
    worker: null,
    left_running: ["7 python"],
  };
  expect(exitFacts(killed)).toEqual([
    ["exit code", "137"],
    ["signal", "SIGKILL"],
    ["still running", "process 7 python"],
  ]);
});
