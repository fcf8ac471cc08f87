// "Stop training" with a confirmation dialog.

import { useState } from "preact/hooks";
import { Dialog } from "./dialog";
import { showNotice } from "./notice";
import { errorMessage, isComplete, replyMessage, request } from "./request";

export function StopButton({ job, isRunning }: { job: string; isRunning: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const stop = async (): Promise<void> => {
    setBusy(true);
    setError("");
    try {
      const answer = await request(job, "stop", {});
      showNotice(replyMessage(answer), !isComplete(answer));
      setOpen(false);
    } catch (problem) {
      setError(errorMessage(problem));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button
        type="button"
        class="danger"
        disabled={!isRunning}
        onClick={() => setOpen(true)}
        data-control="stop"
      >
        Stop training
      </button>
      {isOpen && (
        <Dialog
          title={`Stop ${job}?`}
          action="Stop training"
          isDangerous
          isBusy={isBusy}
          error={error}
          onConfirm={() => void stop()}
          onClose={() => setOpen(false)}
        >
          <p>
            All processes of the job receive SIGTERM, and SIGKILL after 10 s. The recording is kept.
          </p>
        </Dialog>
      )}
    </>
  );
}
