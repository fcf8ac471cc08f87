import { expect, test } from "vitest";
import type { RuleDocument } from "../api";
import { matching } from "./rules";

const rule = (name: string, description: string): RuleDocument =>
  ({ rule: name, description, findings: [] }) as unknown as RuleDocument;

test("rules match if their name or description contains all search words", () => {
  const rules = [rule("LossSpike", "The loss jumps"), rule("DeadRelu", "Units are silent")];
  expect(matching(rules, "loss jump").map((result) => result.rule)).toEqual(["LossSpike"]);
  expect(matching(rules, "relu").map((result) => result.rule)).toEqual(["DeadRelu"]);
  expect(matching(rules, " ").length).toBe(2);
});
