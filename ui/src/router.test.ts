import { describe, expect, it } from "vitest";
import { formatHash, parseHash } from "./router";

describe("URLs", () => {
  it("contain the page of a job and its parameters", () => {
    const route = parseHash("#/jobs/gpt2/nodes?t=420-700&sel=480-630&cores=0-3,11");
    expect(route).toEqual({
      page: "nodes",
      job: "gpt2",
      parameters: { t: "420-700", sel: "480-630", cores: "0-3,11" },
    });
    expect(formatHash(route)).toBe("#/jobs/gpt2/nodes?t=420-700&sel=480-630&cores=0-3,11");
  });

  it("lead to the list of jobs, a comparison, or the overview of a job", () => {
    expect(parseHash("")).toEqual({ page: "jobs", job: "", parameters: {} });
    expect(parseHash("#/?search=a%20b").parameters).toEqual({ search: "a b" });
    expect(parseHash("#/compare?jobs=a,b")).toEqual({
      page: "compare",
      job: "",
      parameters: { jobs: "a,b" },
    });
    expect(parseHash("#/jobs/x").page).toBe("overview");
  });

  it("preserve any job name", () => {
    for (const job of ["a b", "<img src=x>", "ü/ö?&=#", "100%"]) {
      const route = { page: "nodes", job, parameters: { node: job } };
      expect(parseHash(formatHash(route))).toEqual(route);
    }
  });

  it("are parsed leniently if they are invalid", () => {
    expect(parseHash("#/jobs/%E0%A4%A/nodes").job).toBe("%E0%A4%A");
  });
});
