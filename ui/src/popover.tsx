// A popover below a button; Escape and clicks outside close it.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

type Props = {
  label: ComponentChildren;
  title: string;
  isRight?: boolean;
  children: ComponentChildren;
};

export function Popover({ label, title, isRight = false, children }: Props): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const outside = (event: PointerEvent): void => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    const onEscape = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      setOpen(false);
      button.current?.focus();
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("keydown", onEscape, true);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("keydown", onEscape, true);
    };
  }, [isOpen]);
  return (
    <span class="popover-box" ref={box}>
      <button
        type="button"
        ref={button}
        aria-expanded={isOpen}
        aria-haspopup="dialog"
        onClick={() => setOpen(!isOpen)}
      >
        {label} <span aria-hidden="true">▾</span>
      </button>
      {isOpen && (
        <div class={isRight ? "popover right" : "popover"} role="dialog" aria-label={title}>
          {children}
        </div>
      )}
    </span>
  );
}
