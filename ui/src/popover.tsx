// A popover below a button; Escape and clicks outside close it.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

type Props = {
  label: ComponentChildren;
  title: string;
  isRight?: boolean;
  /** A menu is small, and closes when an item is chosen. */
  kind?: "dialog" | "menu";
  children: ComponentChildren;
};

export function Popover({
  label,
  title,
  isRight = false,
  kind = "dialog",
  children,
}: Props): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  useEffect(() => {
    if (!isOpen) return;
    const outside = (event: PointerEvent): void => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    const onEscape = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      close();
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
        class={kind === "menu" ? "small quiet" : undefined}
        aria-label={kind === "menu" ? title : undefined}
        aria-expanded={isOpen}
        aria-haspopup="dialog"
        onClick={() => setOpen(!isOpen)}
      >
        {label} <span aria-hidden="true">▾</span>
      </button>
      {isOpen && (
        <div
          class={`popover ${kind}${isRight ? " right" : ""}`}
          role="dialog"
          aria-label={title}
          onClick={kind === "menu" ? close : undefined}
        >
          {children}
        </div>
      )}
    </span>
  );
}
