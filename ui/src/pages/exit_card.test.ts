import { expect, test } from "vitest";
import type { ExitDocument } from "../api";
import { exitFacts, exitTitle, failingLine, lastOutput, markedTraceback } from "./exit_card";

const exit: ExitDocument = {
  code: 1,
  signal: null,
  reason: "exception",
  message: "ValueError: x",
  traceback: "…",
  failed_at: null,
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

test("facts that the message names already are not repeated", () => {
  expect(exitFacts({ ...exit, code: 3, message: "exit code 3" })).toEqual([]);
  expect(
    exitFacts({ ...exit, code: 137, signal: "SIGKILL", message: "killed by SIGKILL" }),
  ).toEqual([["exit code", "137"]]);
});

test("the failing line is named and marked in the traceback", () => {
  const failed_at = { file: "train.py", line: 2, function: "load", code: "open(path)", row: 1 };
  const failed = { ...exit, traceback: "Traceback\n  File\n    open(path)\nOSError", failed_at };
  expect(failingLine(failed_at)).toBe("train.py:2, in load");
  expect(failingLine({ ...failed_at, function: "<module>" })).toBe("train.py:2");
  expect(markedTraceback(failed).map(([, isFailing]) => isFailing)).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect(markedTraceback(exit)).toEqual([["…", false]]);
});

test("the last output omits what the traceback repeats", () => {
  const output_tail = { stdout: ["a", "b"], stderr: ["c"] };
  expect(lastOutput({ exit, output_tail })).toEqual([["stdout", ["a", "b"]]]);
  expect(lastOutput({ exit: { ...exit, traceback: null }, output_tail })).toEqual([
    ["stdout", ["a", "b"]],
    ["stderr", ["c"]],
  ]);
  expect(lastOutput({ exit, output_tail: { stdout: [], stderr: [] } })).toEqual([]);
});
