// The Rules page: all rules with their status and findings.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { RuleDocument } from "../api";
import { route, setParameters } from "../router";
import { RuleList } from "../rules/rule_list";
import { Sentence } from "../rules/sentence";
import { job } from "../state";
import "./pages.css";

/** Rules whose name, description or findings contain every word of a search. */
export function matching(rules: readonly RuleDocument[], search: string): RuleDocument[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rules.filter((rule) => {
    const text = [rule.rule, rule.description, ...rule.findings.map((finding) => finding.message)]
      .join(" ")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export function RulesPage(): JSX.Element | null {
  const document = job.value;
  const { search = "", rule } = route.value.parameters;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  if (!document) return null;
  const change = (text: string): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setParameters({ search: text }), 150);
  };
  return (
    <section class="card rules-page" aria-labelledby="rules-title">
      <header>
        <h2 id="rules-title">Rules and findings</h2>
        <input
          type="search"
          class="search end"
          placeholder="Search rules"
          aria-label="Search rules"
          value={search}
          onInput={(event) => change(event.currentTarget.value)}
        />
      </header>
      <Sentence document={document} />
      <RuleList
        rules={matching(document.rules, search)}
        findings={document.findings.findings}
        opened={rule}
      />
    </section>
  );
}
