// The "Profile now" dialog: duration and kinds of profiles.

import { useState } from "preact/hooks";
import { toggled } from "../views/legend";
import { Dialog } from "./dialog";
import { showNotice } from "./notice";
import { errorMessage, isComplete, replyMessage, request } from "./request";

/** The kinds of profiles, as `sonde profile --kinds` names them. */
export const KINDS: readonly [string, string][] = [
  ["operators", "operators and kernels"],
  ["python", "Python functions"],
  ["dataloader", "data loading"],
  ["memory", "tensor memory"],
  ["distributed", "collectives between workers"],
];
const DEFAULT_KINDS = ["operators", "dataloader", "python"];
const LIMITS: Record<Unit, number> = { steps: 1000, seconds: 600 };

type Unit = "steps" | "seconds";

export function ProfileButton({ job, isRunning }: { job: string; isRunning: boolean }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        disabled={!isRunning}
        onClick={() => setOpen(true)}
        data-control="profile"
      >
        Profile now
      </button>
      {isOpen && <ProfileDialog job={job} onClose={() => setOpen(false)} />}
    </>
  );
}

function ProfileDialog({ job, onClose }: { job: string; onClose: () => void }) {
  const [unit, setUnit] = useState<Unit>("steps");
  const [amount, setAmount] = useState("3");
  const [kinds, setKinds] = useState<ReadonlySet<string>>(new Set(DEFAULT_KINDS));
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const profile = async (): Promise<void> => {
    if (kinds.size === 0) return setError("Select at least one kind of profile.");
    setBusy(true);
    setError("");
    try {
      const chosen = KINDS.map(([kind]) => kind).filter((kind) => kinds.has(kind));
      const answer = await request(job, "profile", { [unit]: Number(amount), kinds: chosen });
      showNotice(replyMessage(answer), !isComplete(answer));
      onClose();
    } catch (problem) {
      setError(errorMessage(problem));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title="Profile now"
      action="Profile"
      isBusy={isBusy}
      error={error}
      onConfirm={() => void profile()}
      onClose={onClose}
    >
      <div class="field-row">
        <label>
          For{" "}
          <input
            type="number"
            min="1"
            max={LIMITS[unit]}
            required
            value={amount}
            onInput={(event) => setAmount(event.currentTarget.value)}
          />
        </label>
        <label>
          <span class="visually-hidden">Unit</span>
          <select value={unit} onChange={(event) => setUnit(event.currentTarget.value as Unit)}>
            <option value="steps">steps</option>
            <option value="seconds">seconds</option>
          </select>
        </label>
      </div>
      <fieldset>
        <legend>Profile</legend>
        {KINDS.map(([kind, label]) => (
          <label key={kind} class="check">
            <input
              type="checkbox"
              checked={kinds.has(kind)}
              onChange={() => setKinds(toggled(kinds, kind))}
            />{" "}
            {label}
          </label>
        ))}
      </fieldset>
      <p class="sub">
        Profiles run one after another, starting with the next step. Profiled steps are excluded
        from step time statistics.
      </p>
    </Dialog>
  );
}
