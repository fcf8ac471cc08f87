import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { jobDocument } from "./fakes/job";
import { connection, follow, isPaused, reconnects, setPaused, unfollow, updates } from "./live";
import { parseHash, route } from "./router";
import { extent, job, showJob } from "./state";

class FakeSource {
  static opened: FakeSource[] = [];
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  isClosed = false;
  private listeners = new Map<string, (event: unknown) => void>();

  constructor(readonly url: string) {
    FakeSource.opened.push(this);
  }

  addEventListener(kind: string, listener: (event: unknown) => void): void {
    this.listeners.set(kind, listener);
  }

  close(): void {
    this.isClosed = true;
  }

  emit(kind: string, data: object, lastEventId = ""): void {
    this.listeners.get(kind)?.({ data: JSON.stringify(data), lastEventId });
  }
}

const last = (): FakeSource => FakeSource.opened.at(-1)!;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", FakeSource);
  vi.stubGlobal("document", { hidden: false });
  vi.stubGlobal(
    "fetch",
    async () => new Response(JSON.stringify(jobDocument({ state: "running" }))),
  );
  vi.stubGlobal("location", { hash: "" });
  FakeSource.opened = [];
  job.value = null;
  route.value = parseHash("#/jobs/a/nodes");
  showJob(jobDocument({ state: "running" }));
});

afterEach(() => {
  unfollow();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("a live job", () => {
  it("grows as samples arrive", () => {
    follow("a");
    last().onopen?.();
    const before = updates.samples.value;
    last().emit("samples", { from: 1100, to: 1120 }, "c1");
    expect(extent.value).toEqual([0, 120]);
    expect(updates.samples.value).toBe(before + 1);
    expect(connection.value).toBe("live");
  });

  it("resumes from the cursor after a lost connection", () => {
    follow("a");
    last().emit("samples", { to: 1101 }, "c7");
    last().onerror?.();
    expect(connection.value).toBe("lost");
    vi.advanceTimersByTime(1000);
    expect(FakeSource.opened.length).toBe(2);
    expect(last().url).toBe("/api/jobs/a/events?cursor=c7");
    const before = reconnects.value;
    last().onopen?.();
    expect(connection.value).toBe("live");
    expect(reconnects.value).toBe(before + 1);
  });

  it("does not grow while paused, and catches up afterwards", () => {
    follow("a");
    setPaused(true);
    expect(connection.value).toBe("paused");
    const before = updates.samples.value;
    last().emit("samples", { from: 1100, to: 1120 }, "c1");
    expect(extent.value).toEqual([0, 100]);
    expect(connection.value).toBe("paused");
    setPaused(false);
    expect(FakeSource.opened.length).toBe(2);
    expect(updates.samples.value).toBe(before + 1);
  });

  it("ends although it is paused", async () => {
    follow("a");
    setPaused(true);
    last().emit("status", { state: "running" });
    await vi.waitFor(() => expect(connection.value).toBe("paused"));
    vi.stubGlobal(
      "fetch",
      async () => new Response(JSON.stringify(jobDocument({ state: "stopped" }))),
    );
    last().emit("status", { state: "stopped" });
    await vi.waitFor(() => expect(connection.value).toBe("ended"));
    expect(job.value?.state).toBe("stopped");
    expect(isPaused.value).toBe(false);
    expect(last().isClosed).toBe(true);
  });

  it("has no updates after its end", () => {
    unfollow();
    showJob(jobDocument({ state: "completed" }));
    follow("a");
    expect(FakeSource.opened.length).toBe(0);
    expect(connection.value).toBe("ended");
  });
});
