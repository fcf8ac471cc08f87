// The searchable list of tensors; only visible rows are rendered.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatCount } from "../format";
import { setParameters } from "../router";
import { topToShow, visibleRows } from "../scrolling";
import type { TensorInfo, TensorNames } from "./source";
import { chooseTensor, chosenNames, collection, search } from "./state";

const ROW = 24;

export function matching(
  tensors: readonly TensorInfo[],
  collectionName: string,
  text: string,
): TensorInfo[] {
  const needle = text.trim().toLowerCase();
  return tensors.filter(
    (tensor) =>
      (!collectionName || tensor.collections.includes(collectionName)) &&
      tensor.name.toLowerCase().includes(needle),
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
          aria-label="Search tensors by name"
          placeholder="Search by name"
          value={search.value}
          onInput={(event) => setParameters({ find: event.currentTarget.value || null })}
        />
        <select
          aria-label="Collection"
          value={collection.value}
          onChange={(event) => setParameters({ collection: event.currentTarget.value || null })}
        >
          <option value="">All collections</option>
          {names.collections
            .filter((option) => option.name !== "all")
            .map((option) => (
              <option key={option.name} value={option.name}>
                {option.name.replaceAll("_", " ")} ({formatCount(option.count)})
              </option>
            ))}
        </select>
      </div>
      {shown.length ? (
        <Options tensors={shown} />
      ) : (
        <p class="notice empty" data-state="empty">
          No matching tensors.
        </p>
      )}
      <p class="sub">Ctrl-click or press Space to select several tensors.</p>
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
      tensors.findIndex((tensor) => chosenNames.peek().includes(tensor.name)),
    ),
  );
  useEffect(() => {
    setHeight(box.current?.clientHeight ?? 480);
    if (box.current) box.current.scrollTop = topToShow(active, 0, box.current.clientHeight, ROW);
  }, []);
  const activeIndex = Math.min(active, tensors.length - 1);
  const visible = visibleRows(top, height, ROW, tensors.length);
  const move = (to: number): void => {
    const next = Math.max(0, Math.min(tensors.length - 1, to));
    setActive(next);
    if (box.current)
      box.current.scrollTop = topToShow(next, box.current.scrollTop, box.current.clientHeight, ROW);
  };
  const onKey = (event: KeyboardEvent): void => {
    const page = Math.floor(height / ROW);
    const moves: Record<string, number> = {
      ArrowDown: activeIndex + 1,
      ArrowUp: activeIndex - 1,
      PageDown: activeIndex + page,
      PageUp: activeIndex - page,
      Home: 0,
      End: tensors.length - 1,
    };
    if (event.key in moves) move(moves[event.key]!);
    else if (event.key === "Enter" || event.key === " ")
      chooseTensor(tensors[activeIndex]!.name, event.key === " ");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const rows = tensors.slice(visible.first, visible.end);
  return (
    <div
      class="options"
      ref={box}
      role="listbox"
      aria-multiselectable="true"
      aria-label="Tensors by name"
      tabIndex={0}
      aria-activedescendant={
        activeIndex >= visible.first && activeIndex < visible.end
          ? `tensor-${activeIndex}`
          : undefined
      }
      onKeyDown={onKey}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div class="options-all" role="presentation" style={{ height: `${tensors.length * ROW}px` }}>
        {rows.map((tensor, i) => {
          const index = visible.first + i;
          return (
            <div
              key={tensor.name}
              id={`tensor-${index}`}
              role="option"
              class={index === activeIndex ? "option active" : "option"}
              aria-selected={chosenNames.value.includes(tensor.name)}
              aria-setsize={tensors.length}
              aria-posinset={index + 1}
              style={{ transform: `translateY(${index * ROW}px)` }}
              title={`${tensor.name} · ${tensor.dtype} ${tensor.shape.join("×") || "scalar"}${tensor.note ? ` · ${tensor.note}` : ""}`}
              onClick={(event) => {
                setActive(index);
                chooseTensor(tensor.name, event.ctrlKey || event.metaKey || event.shiftKey);
              }}
            >
              <span class="tensor-name">
                <bdi>{tensor.name}</bdi>
              </span>
              <span class="tensor-shape">{tensor.shape.join("×") || "scalar"}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
}
