import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { jobDocument } from "./fakes/job";
import { parseHash, route } from "./router";
import {
  extendTo,
  extent,
  isOpened,
  job,
  panBy,
  readAddress,
  selection,
  setSelection,
  setView,
  showAll,
  showJob,
  showRange,
  view,
  windowMode,
  zoomBy,
} from "./state";

let history: { replaceState: () => void; pushState: () => void };

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("location", { hash: "" });
  history = { replaceState: vi.fn(), pushState: vi.fn() };
  vi.stubGlobal("history", history);
  job.value = null;
  selection.value = null;
  route.value = parseHash("#/jobs/a/nodes");
});

afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("the browser's Back button", () => {
  it("undoes a zoom, and all turns of a wheel at once", () => {
    showJob(jobDocument());
    setView([10, 20]);
    setView([12, 14]);
    expect(history.pushState).toHaveBeenCalledTimes(2);
    zoomBy(0.9, 13, "continuous");
    zoomBy(0.9, 13, "continuous");
    expect(history.pushState).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(5000);
    zoomBy(0.9, 13, "continuous");
    zoomBy(0.9, 13, "continuous");
    expect(history.pushState).toHaveBeenCalledTimes(3);
  });
});

describe("the window of a job", () => {
  it("shows the entire job unless the URL specifies a range", () => {
    showJob(jobDocument());
    expect(view.value).toEqual([0, 100]);
    expect(isOpened.value).toBe(true);
    job.value = null;
    route.value = parseHash("#/jobs/a/nodes?t=20-40&sel=25-30");
    showJob(jobDocument());
    expect(view.value).toEqual([20, 40]);
    expect(selection.value).toEqual([25, 30]);
  });

  it("is stored in the URL unless it shows the entire job", () => {
    showJob(jobDocument());
    setView([20, 40]);
    expect(route.value.parameters.t).toBe("20-40");
    showAll();
    expect(route.value.parameters.t).toBeUndefined();
    setSelection([1, 2]);
    expect(route.value.parameters.sel).toBe("1-2");
    setSelection(null);
    expect(route.value.parameters.sel).toBeUndefined();
  });

  it("follows navigation to an earlier URL", () => {
    showJob(jobDocument());
    setView([20, 40]);
    route.value = parseHash("#/jobs/a/nodes?t=50-60");
    readAddress();
    expect(view.value).toEqual([50, 60]);
    route.value = parseHash("#/jobs/a/nodes");
    readAddress();
    expect(windowMode.value).toBe("all");
  });

  it("zooms and pans within the job", () => {
    showJob(jobDocument());
    zoomBy(0.5);
    expect(view.value).toEqual([25, 75]);
    panBy(1);
    expect(view.value).toEqual([50, 100]);
    zoomBy(100);
    expect(view.value).toEqual([0, 100]);
  });

  it("shows a range with a margin", () => {
    showJob(jobDocument());
    showRange([40, 60]);
    expect(view.value).toEqual([30, 70]);
    expect(selection.value).toEqual([40, 60]);
  });
});

describe("the window of a live job", () => {
  beforeEach(() => showJob(jobDocument({ state: "running" })));

  it("grows if it shows the entire job", () => {
    extendTo(110);
    expect(view.value).toEqual([0, 110]);
  });

  it("follows the end of the job", () => {
    setView([80, 100]);
    extendTo(110);
    expect(view.value).toEqual([90, 110]);
  });

  it("stays if it shows an earlier range", () => {
    setView([20, 40]);
    extendTo(110);
    expect(view.value).toEqual([20, 40]);
    expect(extent.value).toEqual([0, 110]);
  });

  it("does not move for invisible extensions", () => {
    extendTo(100.05);
    expect(view.value).toEqual([0, 100]);
    extendTo(99);
    expect(extent.value).toEqual([0, 100]);
  });
});
