// Stop training: asked twice, since nothing brings the job back.

import { useState } from "preact/hooks";
import { Dialog } from "./dialog";
import { say } from "./notice";
import { errorWords, isDone, replyWords, request } from "./request";

export function StopButton({ job, isRunning }: { job: string; isRunning: boolean }) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const stop = async (): Promise<void> => {
    setBusy(true);
    setError("");
    try {
      const answer = await request(job, "stop", {});
      say(replyWords(answer), !isDone(answer));
      setAsking(false);
    } catch (problem) {
      setError(errorWords(problem));
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
        onClick={() => setAsking(true)}
        data-control="stop"
      >
        Stop training
      </button>
      {isAsking && (
        <Dialog
          title={`Stop ${job}?`}
          action="Stop training"
          isDangerous
          isBusy={isBusy}
          error={error}
          onAct={() => void stop()}
          onClose={() => setAsking(false)}
        >
          <p>
            Every process of the job gets SIGTERM, and SIGKILL after 10 s. What was recorded stays.
          </p>
        </Dialog>
      )}
    </>
  );
}
