// The "Profile now" dialog: duration and kinds of profiles.

import { useState } from "preact/hooks";
import type { ProfilerDocument } from "../generated/api_types";
import { toggled } from "../views/legend";
import { Dialog } from "./dialog";
import { showNotice } from "./notice";
import { errorMessage, isComplete, replyMessage, request } from "./request";

const LIMITS: Record<Unit, number> = { steps: 1000, seconds: 600 };

type Unit = "steps" | "seconds";

type Target = { job: string; profilers: readonly ProfilerDocument[] };

export function ProfileButton({ isRunning, ...target }: Target & { isRunning: boolean }) {
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
      {isOpen && <ProfileDialog {...target} onClose={() => setOpen(false)} />}
    </>
  );
}

function ProfileDialog({ job, profilers, onClose }: Target & { onClose: () => void }) {
  const [unit, setUnit] = useState<Unit>("steps");
  const [amount, setAmount] = useState("3");
  const [kinds, setKinds] = useState<ReadonlySet<string>>(
    () => new Set(profilers.filter((each) => each.runs_by_default).map((each) => each.kind)),
  );
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const profile = async (): Promise<void> => {
    if (kinds.size === 0) return setError("Select at least one kind of profile.");
    setBusy(true);
    setError("");
    try {
      const chosen = profilers.map((each) => each.kind).filter((kind) => kinds.has(kind));
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
        {profilers.map(({ kind, title }) => (
          <label key={kind} class="check">
            <input
              type="checkbox"
              checked={kinds.has(kind)}
              onChange={() => setKinds(toggled(kinds, kind))}
            />{" "}
            {title}
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
