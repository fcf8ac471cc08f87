// Profile now: for how many steps or seconds, and what to look at.

import { useState } from "preact/hooks";
import { toggled } from "../views/legend";
import { Dialog } from "./dialog";
import { say } from "./notice";
import { errorWords, isDone, replyWords, request } from "./request";

/** The kinds of profiles, as `sonde profile --kinds` names them. */
export const KINDS: readonly [string, string][] = [
  ["operators", "operators and kernels"],
  ["python", "Python functions"],
  ["dataloader", "data loading"],
  ["memory", "memory of tensors"],
  ["distributed", "collectives between workers"],
];
const USUAL = ["operators", "dataloader", "python"];
const MOST: Record<Unit, number> = { steps: 1000, seconds: 600 };

type Unit = "steps" | "seconds";

export function ProfileButton({ job, isRunning }: { job: string; isRunning: boolean }) {
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <button
        type="button"
        disabled={!isRunning}
        onClick={() => setAsking(true)}
        data-control="profile"
      >
        Profile now
      </button>
      {isAsking && <ProfileDialog job={job} onClose={() => setAsking(false)} />}
    </>
  );
}

function ProfileDialog({ job, onClose }: { job: string; onClose: () => void }) {
  const [unit, setUnit] = useState<Unit>("steps");
  const [amount, setAmount] = useState("3");
  const [kinds, setKinds] = useState<ReadonlySet<string>>(new Set(USUAL));
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const profile = async (): Promise<void> => {
    if (kinds.size === 0) return setError("Choose at least one kind.");
    setBusy(true);
    setError("");
    try {
      const chosen = KINDS.map(([kind]) => kind).filter((kind) => kinds.has(kind));
      const answer = await request(job, "profile", { [unit]: Number(amount), kinds: chosen });
      say(replyWords(answer), !isDone(answer));
      onClose();
    } catch (problem) {
      setError(errorWords(problem));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title="Profile now"
      action="Profile"
      isBusy={isBusy}
      error={error}
      onAct={() => void profile()}
      onClose={onClose}
    >
      <div class="field-row">
        <label>
          For{" "}
          <input
            type="number"
            min="1"
            max={MOST[unit]}
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
        <legend>What to look at</legend>
        {KINDS.map(([kind, words]) => (
          <label key={kind} class="check">
            <input
              type="checkbox"
              checked={kinds.has(kind)}
              onChange={() => setKinds(toggled(kinds, kind))}
            />{" "}
            {words}
          </label>
        ))}
      </fieldset>
      <p class="sub">
        Kinds follow each other from the next step on. The steps they slow down do not count for how
        long steps take.
      </p>
    </Dialog>
  );
}
