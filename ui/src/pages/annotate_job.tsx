// Edits the tags, group and note of a job.

import { useState } from "preact/hooks";
import { type JobRow, jobPath, send } from "../api";
import { Dialog } from "../controls/dialog";
import { errorMessage } from "../controls/request";

type Props = { row: JobRow; onClose: () => void; onSaved: () => void };

/** The tags in a text that separates them by spaces or commas. */
export const tagsIn = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

export function AnnotateDialog({ row, onClose, onSaved }: Props) {
  const [tags, setTags] = useState(row.tags.join(" "));
  const [group, setGroup] = useState(row.group);
  const [note, setNote] = useState(row.note);
  const [error, setError] = useState("");
  const save = async (): Promise<void> => {
    try {
      await send("POST", jobPath(row.name, "annotations"), { tags: tagsIn(tags), group, note });
      onSaved();
    } catch (problem) {
      setError(errorMessage(problem));
    }
  };
  return (
    <Dialog
      title={`Tags and note of ${row.name}`}
      action="Save"
      error={error}
      onConfirm={() => void save()}
      onClose={onClose}
    >
      <label class="field">
        Tags
        <input
          type="text"
          value={tags}
          placeholder="baseline, sweep"
          onInput={(event) => setTags(event.currentTarget.value)}
        />
      </label>
      <label class="field">
        Group
        <input type="text" value={group} onInput={(event) => setGroup(event.currentTarget.value)} />
      </label>
      <label class="field">
        Note
        <textarea rows={3} value={note} onInput={(event) => setNote(event.currentTarget.value)} />
      </label>
    </Dialog>
  );
}
