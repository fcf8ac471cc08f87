// Controls of a job in the page header: sampling interval, profiling, report and stop.

import type { JSX } from "preact";
import { jobPath } from "../api";
import { bundle } from "../bundle";
import { CopyLink } from "../sharing/copy_link";
import { isLive, job } from "../state";
import { MonitoringSelect } from "./monitoring";
import { ProfileButton } from "./profile";
import { StopButton } from "./stop";

/** The controls; finished jobs have no controls that need a running process. */
export function HeaderControls(): JSX.Element | null {
  const document = job.value;
  if (document === null) return null;
  const { job: name, controls } = document;
  return (
    <div class="controls" role="group" aria-label="Job controls">
      {isLive.value && (
        <>
          <MonitoringSelect
            job={name}
            interval={document.interval_seconds}
            isMonitoring={document.is_monitoring}
            isRunning={controls.set}
          />
          <ProfileButton job={name} isRunning={controls.profile} profilers={document.profilers} />
        </>
      )}
      <CopyLink />
      {!bundle && (
        <a class="button" href={jobPath(name, "report")} download data-control="report">
          Download report
        </a>
      )}
      {isLive.value && <StopButton job={name} isRunning={controls.stop} />}
    </div>
  );
}
