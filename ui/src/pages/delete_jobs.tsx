// Deletes one or more jobs after a confirmation.

import { useState } from "preact/hooks";
import { jobPath, send } from "../api";
import { Dialog } from "../controls/dialog";
import { showNotice } from "../controls/notice";
import { errorMessage } from "../controls/request";
import { pluralize } from "../format";

const MAX_NAMED = 10;

type Props = {
  names: readonly string[];
  onClose: () => void;
  /** Receives the deleted names, also if only some could be deleted. */
  onDeleted: (names: readonly string[]) => void;
};

export function DeleteJobsDialog({ names, onClose, onDeleted }: Props) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const [remaining, setRemaining] = useState(names);
  const remove = async (): Promise<void> => {
    setBusy(true);
    const { deleted, failures } = await deleteJobs(remaining);
    setBusy(false);
    if (deleted.length > 0)
      showNotice(
        `Deleted ${deleted.length === 1 ? deleted[0] : pluralize(deleted.length, "job")}.`,
      );
    const left = remaining.filter((name) => !deleted.includes(name));
    if (left.length === 0) return onDeleted(deleted);
    setRemaining(left);
    setError(failures.join(" "));
  };
  return (
    <Dialog
      title={
        names.length === 1 ? `Delete ${names[0]}?` : `Delete ${pluralize(names.length, "job")}?`
      }
      action="Delete"
      isDangerous
      isBusy={isBusy}
      error={error}
      onConfirm={() => void remove()}
      onClose={() => {
        onDeleted(names.filter((name) => !remaining.includes(name)));
        onClose();
      }}
    >
      <p>
        {names.length === 1
          ? "This permanently removes the job and all its data from the store."
          : "This permanently removes these jobs and all their data from the store:"}
      </p>
      {names.length > 1 && <p class="names">{namesText(remaining)}</p>}
    </Dialog>
  );
}

function namesText(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

async function deleteJobs(
  names: readonly string[],
): Promise<{ deleted: string[]; failures: string[] }> {
  const deleted: string[] = [];
  const failures: string[] = [];
  for (const name of names)
    try {
      await send("DELETE", jobPath(name));
      deleted.push(name);
    } catch (problem) {
      failures.push(errorMessage(problem));
    }
  return { deleted, failures };
}
