// All tensors by name: searched at once, drawn only where they are in sight.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatCount } from "../format";
import { setParameters } from "../router";
import { rowsInSight, topToShow } from "../scrolling";
import type { TensorInfo, TensorNames } from "./source";
import { chooseTensor, chosenNames, collection, search } from "./state";

const ROW = 24;

export function matching(
  tensors: readonly TensorInfo[],
  wanted: string,
  text: string,
): TensorInfo[] {
  const small = text.trim().toLowerCase();
  return tensors.filter(
    (one) =>
      (!wanted || one.collections.includes(wanted)) && one.name.toLowerCase().includes(small),
  );
}

export function NameList({ names }: { names: TensorNames }): JSX.Element {
  const shown = matching(names.tensors, collection.value, search.value);
  return (
    <section class="card names" data-chart="tensor-names" aria-labelledby="names-title">
      <header>
        <h2 id="names-title">Tensors</h2>
        <span class="sub">
          {formatCount(shown.length)} of {formatCount(names.tensors.length)}
        </span>
      </header>
      <div class="name-tools">
        <input
          type="search"
          aria-label="Find tensors by name"
          placeholder="Find by name"
          value={search.value}
          onInput={(event) => setParameters({ find: event.currentTarget.value || null })}
        />
        <select
          aria-label="Collection"
          value={collection.value}
          onChange={(event) => setParameters({ collection: event.currentTarget.value || null })}
        >
          <option value="">all collections</option>
          {names.collections
            .filter((one) => one.name !== "all")
            .map((one) => (
              <option key={one.name} value={one.name}>
                {one.name.replaceAll("_", " ")} ({formatCount(one.count)})
              </option>
            ))}
        </select>
      </div>
      {shown.length ? (
        <Options tensors={shown} />
      ) : (
        <p class="notice empty" data-state="empty">
          No tensor has this in its name.
        </p>
      )}
      <p class="sub">Ctrl-click or Space adds one to the others.</p>
    </section>
  );
}

function Options({ tensors }: { tensors: readonly TensorInfo[] }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(480);
  const [active, setActive] = useState(() =>
    Math.max(
      0,
      tensors.findIndex((one) => chosenNames.peek().includes(one.name)),
    ),
  );
  useEffect(() => {
    setHeight(box.current?.clientHeight ?? 480);
    if (box.current) box.current.scrollTop = topToShow(active, 0, box.current.clientHeight, ROW);
  }, []);
  const place = Math.min(active, tensors.length - 1);
  const sight = rowsInSight(top, height, ROW, tensors.length);
  const move = (to: number): void => {
    const next = Math.max(0, Math.min(tensors.length - 1, to));
    setActive(next);
    if (box.current)
      box.current.scrollTop = topToShow(next, box.current.scrollTop, box.current.clientHeight, ROW);
  };
  const onKey = (event: KeyboardEvent): void => {
    const page = Math.floor(height / ROW);
    const moves: Record<string, number> = {
      ArrowDown: place + 1,
      ArrowUp: place - 1,
      PageDown: place + page,
      PageUp: place - page,
      Home: 0,
      End: tensors.length - 1,
    };
    if (event.key in moves) move(moves[event.key]!);
    else if (event.key === "Enter" || event.key === " ")
      chooseTensor(tensors[place]!.name, event.key === " ");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const rows = tensors.slice(sight.first, sight.end);
  return (
    <div
      class="options"
      ref={box}
      role="listbox"
      aria-multiselectable="true"
      aria-label="Tensors by name"
      tabIndex={0}
      aria-activedescendant={
        place >= sight.first && place < sight.end ? `tensor-${place}` : undefined
      }
      onKeyDown={onKey}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div class="options-all" role="presentation" style={{ height: `${tensors.length * ROW}px` }}>
        {rows.map((one, i) => {
          const index = sight.first + i;
          return (
            <div
              key={one.name}
              id={`tensor-${index}`}
              role="option"
              class={index === place ? "option active" : "option"}
              aria-selected={chosenNames.value.includes(one.name)}
              aria-setsize={tensors.length}
              aria-posinset={index + 1}
              style={{ transform: `translateY(${index * ROW}px)` }}
              title={`${one.name} · ${one.dtype} ${one.shape.join("×") || "scalar"}${one.said ? ` · ${one.said}` : ""}`}
              onClick={(event) => {
                setActive(index);
                chooseTensor(one.name, event.ctrlKey || event.metaKey || event.shiftKey);
              }}
            >
              <span class="tensor-name">
                <bdi>{one.name}</bdi>
              </span>
              <span class="tensor-shape">{one.shape.join("×") || "scalar"}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
}
