// A row of the list of jobs.

import { useMemo } from "preact/hooks";
import { type JobRow, type Severity, unixOf } from "../api";
import { formatCount, formatDuration, formatStamp, formatValue } from "../format";
import { linkTo, setParameters } from "../router";
import { SEVERITIES } from "../rule_status";
import { sparkLabel, sparkPath } from "../sparkline";
import { zone } from "../state";
import { StateChip } from "../state_chip";
import { COLUMNS } from "./jobs_head";

const SPARK = { width: 96, height: 22 };

type Props = {
  row: JobRow | null;
  number: number;
  isChosen: boolean;
  onChoose: (name: string) => void;
  onDelete: (row: JobRow) => void;
  onAnnotate: (row: JobRow) => void;
};

export const isRunning = (row: JobRow): boolean =>
  row.state === "running" || row.state === "starting";

/** A memoized row: scrolling re-renders only changed rows. */
export function JobLine(props: Props) {
  const { row, number, isChosen, onChoose, onDelete, onAnnotate } = props;
  return useMemo(
    () => <Line {...props} />,
    [row, number, isChosen, onChoose, onDelete, onAnnotate],
  );
}

function Line({ row, number, isChosen, onChoose, onDelete, onAnnotate }: Props) {
  if (row === null)
    return (
      <tr aria-rowindex={number} class="coming">
        <td colSpan={COLUMNS.length}>…</td>
      </tr>
    );
  const verdict = verdictOf(row);
  const steps = row.steps.train ?? Object.values(row.steps)[0];
  return (
    <tr aria-rowindex={number} data-job={row.name} class={isChosen ? "compared" : ""}>
      <td class="col-choose">
        <input
          type="checkbox"
          checked={isChosen}
          aria-label={`Select ${row.name} for comparison`}
          onChange={() => onChoose(row.name)}
        />
      </td>
      <td class="col-name">
        <a href={linkTo("overview", row.name)} title={row.name}>
          {row.name}
        </a>
        <Labels row={row} />
      </td>
      <td class="col-state">
        <StateChip state={row.state} />
      </td>
      <td class="col-started">{formatStamp(unixOf(row.start_time), zone.value)}</td>
      <td class="col-duration r">
        {row.duration_seconds === null ? "–" : formatDuration(row.duration_seconds)}
      </td>
      <td class="col-steps r">{steps === undefined ? "–" : formatCount(steps)}</td>
      <td class="col-findings">
        <Findings findings={row.findings} />
      </td>
      <td class="col-verdict" title={verdict}>
        {verdict}
      </td>
      <td class="col-spark">
        <Spark spark={row.spark} />
      </td>
      <td class="col-delete">
        <button
          type="button"
          class="quiet icon"
          aria-label={`Tags and note of ${row.name}`}
          title="Tags and note"
          onClick={() => onAnnotate(row)}
        >
          ✎
        </button>
        <button
          type="button"
          class="quiet icon"
          aria-label={`Delete ${row.name}`}
          disabled={isRunning(row)}
          onClick={() => onDelete(row)}
        >
          ✕
        </button>
      </td>
    </tr>
  );
}

/** Group and tags; a click filters by them. */
function Labels({ row }: { row: JobRow }) {
  const labels = [
    ...(row.group ? [["group", row.group] as const] : []),
    ...row.tags.map((tag) => ["tag", tag] as const),
  ];
  if (labels.length === 0) return null;
  return (
    <span class="labels">
      {labels.map(([field, text]) => (
        <button
          key={`${field}:${text}`}
          type="button"
          class={`label ${field}`}
          title={`Show the jobs with this ${field}`}
          onClick={() => setParameters({ search: `${field}:${text}` })}
        >
          {text}
        </button>
      ))}
    </span>
  );
}

/** The reason of a failure, or a change of speed and the main finding; then the note. */
export function verdictOf(row: JobRow): string {
  const isWell = row.state === "completed" || isRunning(row);
  const texts = isWell
    ? [row.change, row.finding]
    : [row.verdict.replace(`${row.name} `, ""), row.change];
  return [...texts, row.note].filter(Boolean).join(" · ");
}

function severityCount(severity: Severity, count: number): string {
  return `${count} ${severity === "warning" && count !== 1 ? "warnings" : severity}`;
}

function Findings({ findings }: { findings: Partial<Record<Severity, number>> }) {
  const present = SEVERITIES.filter((severity) => (findings[severity] ?? 0) > 0);
  if (present.length === 0) return <span class="sub">none</span>;
  return (
    <>
      {present.map((severity) => (
        <span key={severity} class={`count ${severity}`}>
          {severityCount(severity, findings[severity] ?? 0)}
        </span>
      ))}
    </>
  );
}

function Spark({ spark }: { spark: JobRow["spark"] }) {
  if (!spark) return null;
  const path = sparkPath(spark.values, SPARK.width - 4, SPARK.height - 4);
  if (!path) return null;
  const label = sparkLabel(spark.label, spark.values, (value) => formatValue(value, ""));
  return (
    <svg
      class="spark"
      width={SPARK.width}
      height={SPARK.height}
      viewBox={`-2 -2 ${SPARK.width} ${SPARK.height}`}
      role="img"
      aria-label={label}
    >
      <title>{label}</title>
      <path d={path} />
    </svg>
  );
}
