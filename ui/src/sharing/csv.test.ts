import { describe, expect, it } from "vitest";
import { numberColumn, tableSpec, textColumn } from "../nodes/chart_block";
import { csvOf } from "./csv";

describe("a table as CSV", () => {
  it("has units in its header, and numbers as recorded", () => {
    const columns = [textColumn("Name"), numberColumn("Time", "seconds")];
    const table = tableSpec("t", columns, [
      ["a", 0.123456789],
      ["b", null],
    ]);
    expect(csvOf(table)).toBe("Name,Time (seconds)\r\na,0.123456789\r\nb,\r\n");
  });

  it("quotes texts, and never starts a formula", () => {
    const table = tableSpec("t", [textColumn('a "b", c')], [["=1+1"], ["x\ny"], ["@a,b"]]);
    expect(csvOf(table)).toBe(`"a ""b"", c"\r\n'=1+1\r\n"x\ny"\r\n"'@a,b"\r\n`);
  });
});
