// A modal dialog with a confirm and a cancel button.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

type Props = {
  title: string;
  action: string;
  isDangerous?: boolean;
  isBusy?: boolean;
  error?: string;
  onConfirm: () => void;
  onClose: () => void;
  children: ComponentChildren;
};

/** A modal dialog, open while mounted; Escape closes it and restores the focus. */
export function Dialog({
  title,
  action,
  isDangerous,
  isBusy,
  error,
  onConfirm: onAct,
  onClose,
  children,
}: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!isBusy) onAct();
  };
  const cancel = (event: Event): void => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={element} class="dialog" aria-labelledby={heading} onCancel={cancel}>
      <form onSubmit={submit}>
        <h2 id={heading}>{title}</h2>
        <div class="dialog-body">{children}</div>
        {error && (
          <p class="error-text" role="alert">
            {error}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class={isDangerous ? "danger" : "primary"}
            disabled={Boolean(isBusy)}
          >
            {isBusy ? "Waiting for the job…" : action}
          </button>
        </div>
      </form>
    </dialog>
  );
}
