// Monitoring on or off, and how often the machines are sampled, while the job runs.

import { useEffect, useState } from "preact/hooks";
import { formatDuration } from "../format";
import { say } from "./notice";
import { errorWords, isDone, replyWords, request } from "./request";

export const INTERVALS = [0.1, 0.2, 0.5, 1, 5, 60] as const;

const PATIENCE_MS = 10_000;

type Props = { job: string; interval: number | null; isMonitoring: boolean; isRunning: boolean };

export function MonitoringSelect({ job, interval, isMonitoring, isRunning }: Props) {
  const [asked, setAsked] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const current = isMonitoring ? String(interval ?? "") : "off";
  // What was asked for is shown until the job says the same of itself, which takes it a few seconds.
  useEffect(() => {
    if (asked === null || isBusy) return;
    if (asked === current) return setAsked(null);
    const timer = setTimeout(() => setAsked(null), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [asked, current, isBusy]);
  const known = intervalChoices(interval);
  const change = async (value: string): Promise<void> => {
    setAsked(value);
    setBusy(true);
    try {
      const answer = await request(job, "set", changeFor(value, isMonitoring));
      say(replyWords(answer), !isDone(answer));
      if (!isDone(answer)) setAsked(null);
    } catch (problem) {
      say(errorWords(problem), true);
      setAsked(null);
    } finally {
      setBusy(false);
    }
  };
  return (
    <label class="control">
      Monitoring{" "}
      <select
        value={asked ?? current}
        disabled={!isRunning || isBusy}
        aria-busy={isBusy}
        data-control="monitoring"
        onChange={(event) => void change(event.currentTarget.value)}
      >
        <option value="off">off</option>
        {known.map((seconds) => (
          <option key={seconds} value={String(seconds)}>
            every {intervalWords(seconds)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What is offered, and what is set if that is something else. */
export function intervalChoices(interval: number | null): number[] {
  const known: number[] = [...INTERVALS];
  if (interval !== null && !known.includes(interval)) known.push(interval);
  return known.sort((one, other) => one - other);
}

export function intervalWords(seconds: number): string {
  if (seconds === 60) return "1 min";
  return seconds < 1
    ? `${Math.round(seconds * 1000)} ms`
    : Number.isInteger(seconds)
      ? `${seconds} s`
      : formatDuration(seconds);
}

/** What has to be asked so that it becomes so. */
export function changeFor(value: string, isMonitoring: boolean): Record<string, number | boolean> {
  if (value === "off") return { monitoring: false };
  return isMonitoring
    ? { interval_seconds: Number(value) }
    : { monitoring: true, interval_seconds: Number(value) };
}
