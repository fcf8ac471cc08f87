import { describe, expect, it } from "vitest";
import type { Bundle, Entry } from "./bundle";
import { bundledFrame, bundledJson, entriesFor } from "./bundled_replies";
import { frameOf } from "./fakes/frames";

async function compressed(bytes: ArrayBuffer): Promise<string> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate"));
  return Buffer.from(await new Response(stream).arrayBuffer()).toString("base64");
}

const entry = (path: string, more: Partial<Entry> = {}): Entry => ({
  path,
  query: {},
  bounds: {},
  window: null,
  is_exact: false,
  data: "",
  ...more,
});
const bundleOf = (...replies: Entry[]): Bundle => ({
  job: "a/b",
  as_of: 2000,
  start: 1000,
  seconds: 100,
  version: "1",
  omitted: [],
  replies,
});
const json = (value: unknown): Promise<string> =>
  compressed(new TextEncoder().encode(JSON.stringify(value)).buffer as ArrayBuffer);
const PATH = "/api/jobs/a%2Fb";

describe("replies of a bundle", () => {
  it("come from the shortest recorded window around the requested one", () => {
    const whole = entry("series", { query: { node: "n" }, window: [0, 100] });
    const half = entry("series", { query: { node: "n" }, window: [50, 100] });
    const bundle = bundleOf(whole, half);
    const inside = { node: "n", t0: 1060, t1: 1070 };
    expect(entriesFor(bundle, "series", inside)[0]).toBe(half);
    expect(entriesFor(bundle, "series", { ...inside, t0: 1040 })[0]).toBe(whole);
    expect(entriesFor(bundle, "series", { ...inside, t1: 1102 })[0]).toBe(half);
    expect(entriesFor(bundle, "series", { ...inside, node: "m" })).toEqual([]);
  });

  it("never give sums of one window as those of another", () => {
    const bundle = bundleOf(entry("breakdown", { window: [0, 100], is_exact: true }));
    expect(entriesFor(bundle, "breakdown", { t0: 1000, t1: 1100 })).toHaveLength(1);
    expect(entriesFor(bundle, "breakdown", { t0: 1000, t1: 1050 })).toEqual([]);
  });

  it("are decompressed, and cut to the requested steps", async () => {
    const steps = [1, 2, 3, 4].map((step) => ({ step }));
    const bundle = bundleOf(entry("steps", { data: await json({ total: 4, steps }) }));
    expect(await bundledJson(bundle, `${PATH}/steps`, { last: 2, before: 4 })).toEqual({
      total: 4,
      steps: [{ step: 2 }, { step: 3 }],
    });
  });

  it("combine the statistics of tensors from several replies", async () => {
    const holding = async (name: string): Promise<Entry> =>
      entry("tensors/statistics", {
        bounds: { names: name },
        data: await json({ mode: "train", series: [{ name }] }),
      });
    const bundle = bundleOf(await holding("a"), await holding("b"), await holding("c"));
    const reply = await bundledJson(bundle, `${PATH}/tensors/statistics`, { names: "a\nc" });
    expect(reply).toEqual({ mode: "train", series: [{ name: "a" }, { name: "c" }] });
  });

  it("show only the requested workers of a timeline, and their nodes", async () => {
    const header = {
      workers: [
        { worker: 0, node: "x" },
        { worker: 1, node: "y" },
      ],
      counters: [{ node: "x" }, { node: "y" }],
    };
    const data = await compressed(frameOf(header, new Uint8Array(0)));
    const bundle = bundleOf(entry("timeline", { data }));
    const frame = await bundledFrame(bundle, `${PATH}/timeline`, { workers: "1" });
    expect(frame.header).toEqual({
      workers: [{ worker: 1, node: "y" }],
      counters: [{ node: "y" }],
    });
  });

  it("are refused with the command that shows more", async () => {
    const bundle = bundleOf();
    await expect(bundledJson(bundle, `${PATH}/flame`, {})).rejects.toThrow("sonde ui");
    await expect(bundledJson(bundle, "/api/jobs/other", {})).rejects.toThrow("sonde ui");
  });
});
