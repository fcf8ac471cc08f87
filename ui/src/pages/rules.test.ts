import { expect, test } from "vitest";
import type { RuleDocument } from "../api";
import { matching } from "./rules";

const rule = (name: string, description: string): RuleDocument =>
  ({ rule: name, description, findings: [] }) as unknown as RuleDocument;

test("a rule is found by all words of a search, in its name or in what it says", () => {
  const rules = [rule("LossSpike", "The loss jumps"), rule("DeadRelu", "Units are silent")];
  expect(matching(rules, "loss jump").map((one) => one.rule)).toEqual(["LossSpike"]);
  expect(matching(rules, "relu").map((one) => one.rule)).toEqual(["DeadRelu"]);
  expect(matching(rules, " ").length).toBe(2);
});
