// Sampling on or off and the sampling interval of a running job.

import { useEffect, useState } from "preact/hooks";
import { formatDuration } from "../format";
import { showNotice } from "./notice";
import { errorMessage, isComplete, replyMessage, request } from "./request";

export const INTERVALS = [0.1, 0.2, 0.5, 1, 5, 60] as const;

const CONFIRMATION_TIMEOUT_MS = 10_000;

type Props = { job: string; interval: number | null; isMonitoring: boolean; isRunning: boolean };

export function MonitoringSelect({ job, interval, isMonitoring, isRunning }: Props) {
  const [requested, setRequested] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const current = isMonitoring ? String(interval ?? "") : "off";
  // Show the requested value until the job reports it, which takes a few seconds.
  useEffect(() => {
    if (requested === null || isBusy) return;
    if (requested === current) return setRequested(null);
    const timer = setTimeout(() => setRequested(null), CONFIRMATION_TIMEOUT_MS);
    return () => clearTimeout(timer);
  }, [requested, current, isBusy]);
  const choices = intervalChoices(interval);
  const change = async (value: string): Promise<void> => {
    setRequested(value);
    setBusy(true);
    try {
      const answer = await request(job, "set", requestBody(value, isMonitoring));
      showNotice(replyMessage(answer), !isComplete(answer));
      if (!isComplete(answer)) setRequested(null);
    } catch (problem) {
      showNotice(errorMessage(problem), true);
      setRequested(null);
    } finally {
      setBusy(false);
    }
  };
  return (
    <label class="control">
      Monitoring{" "}
      <select
        value={requested ?? current}
        disabled={!isRunning || isBusy}
        aria-busy={isBusy}
        data-control="monitoring"
        onChange={(event) => void change(event.currentTarget.value)}
      >
        <option value="off">off</option>
        {choices.map((seconds) => (
          <option key={seconds} value={String(seconds)}>
            every {formatDuration(seconds)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The standard intervals, and the current one if it is different. */
export function intervalChoices(interval: number | null): number[] {
  const choices: number[] = [...INTERVALS];
  if (interval !== null && !choices.includes(interval)) choices.push(interval);
  return choices.sort((a, b) => a - b);
}

/** The request body that applies a choice. */
export function requestBody(
  value: string,
  isMonitoring: boolean,
): Record<string, number | boolean> {
  if (value === "off") return { monitoring: false };
  return isMonitoring
    ? { interval_seconds: Number(value) }
    : { monitoring: true, interval_seconds: Number(value) };
}
