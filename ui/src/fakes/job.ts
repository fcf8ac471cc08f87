// A job document for tests.

import type { JobDocument } from "../api";

export function jobDocument(overrides: Partial<JobDocument> = {}): JobDocument {
  return {
    job: "a",
    state: "completed",
    attempts: 1,
    verdict: "",
    not_seen: "",
    seen: { framework: null, inside: false, why_not: null },
    now: 1100,
    t0: 1000,
    t1: 1100,
    start_time: "1970-01-01T00:16:40Z",
    end_time: null,
    duration_seconds: 100,
    exit: null,
    stages: {},
    steps: {},
    phases: {},
    losses: {},
    nodes: [],
    workers: [],
    rules: [],
    lost: [],
    not_collected: [],
    profiles: [],
    runs: [],
    lives: [],
    findings: { findings: [], counts: {}, worst: null, sentence: null },
    notices: [],
    overhead: {
      percent: 0,
      hook_percent: 0,
      launcher_percent: 0,
      cpu_seconds: 0,
      bytes_written: 0,
    },
    interval_seconds: 0.5,
    is_monitoring: true,
    has: {},
    controls: { stop: false, set: false, profile: false, delete: true },
    ...overrides,
  };
}
