// The documentation of a rule, and its parameters with current and default values.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { getJson, jobPath, type RuleDocument } from "../api";
import { valueText } from "../evidence";
import { always, useResource } from "../resource";
import { route } from "../router";
import { Code } from "./finding_view";

export type Page = {
  question: string;
  why: string;
  decides: string;
  advice: string;
  needs: string[];
  parameters: { name: string; allowed: string; default: string }[];
};
type WithPage = RuleDocument & { page: Page | null };

const pages = new Map<string, Promise<Map<string, Page>>>();

/** The documentation of all rules of a job, loaded once. */
function pagesOf(job: string): Promise<Map<string, Page>> {
  let cached = pages.get(job);
  if (!cached) {
    cached = getJson<WithPage[]>(jobPath(job, "rules")).then(
      (rules) => new Map(rules.flatMap(({ rule, page }) => (page ? [[rule, page]] : []))),
    );
    cached.catch(() => pages.delete(job));
    pages.set(job, cached);
  }
  return cached;
}

export function RulePage({ rule }: { rule: RuleDocument }): JSX.Element {
  const job = route.value.job;
  const page = useResource(() => pagesOf(job), always, [job]).value.value?.get(rule.rule);
  const isClean = rule.findings.length === 0;
  return (
    <>
      {page?.why && (
        <p>
          <b>Why it matters:</b> <Code text={page.why} />
        </p>
      )}
      {page?.decides && (
        <p>
          <b>How it decides:</b> <Code text={page.decides} />
        </p>
      )}
      {isClean && (
        <p>
          <b>What to do:</b> <Code text={page?.advice ?? rule.recommendation} />
        </p>
      )}
      <ParameterTable parameters={rule.parameters} page={page} />
    </>
  );
}

function ParameterTable({
  parameters,
  page,
}: {
  parameters: RuleDocument["parameters"];
  page: Page | undefined;
}): JSX.Element | null {
  const names = useMemo(() => Object.keys(parameters), [parameters]);
  if (names.length === 0) return <p class="sub">This rule has no parameters.</p>;
  return (
    <table class="parameters">
      <caption>Parameters</caption>
      <thead>
        <tr>
          <th scope="col">Parameter</th>
          <th scope="col" class="r">
            Value
          </th>
          {page && (
            <>
              <th scope="col" class="r">
                Default
              </th>
              <th scope="col">Allowed</th>
            </>
          )}
        </tr>
      </thead>
      <tbody>
        {names.map((name) => {
          const described = page?.parameters.find((parameter) => parameter.name === name);
          return (
            <tr key={name}>
              <td>{name}</td>
              <td class="r">{valueText(parameters[name], "")}</td>
              {page && (
                <>
                  <td class="r sub">{described?.default}</td>
                  <td class="sub">{described?.allowed}</td>
                </>
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
