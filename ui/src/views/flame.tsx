// A flame graph from the top: who called whom; as wide as the time it took.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { FONT, sharpContext } from "../canvas";
import { color } from "../colors";
import { formatDuration, formatPercent } from "../format";
import { exposeChart } from "../inspect";
import { useWidth } from "../resource";
import { shownTheme } from "../state";
import { tint } from "../timeline/drawing";
import {
  type FlameLayout,
  type FlameTree,
  frameAt,
  layFlame,
  lineageOf,
  neighbour,
  ownerOf,
  searchFlame,
  zoomRange,
} from "../timeline/flame_layout";
import { fitting } from "../timeline/layout";

const ROW = 18;
const OWNERS: Record<string, string> = {
  "own code": "--c2",
  torch: "--c1",
  Python: "--base",
  "built in": "--base",
  numpy: "--c3",
};
const OTHERS = ["--c7", "--c4", "--c5", "--c6"];

/** The style variable of whose code a frame is. */
export function ownerColor(owner: string): string {
  let sum = 0;
  for (const letter of owner) sum = (sum * 31 + letter.codePointAt(0)!) % 997;
  return OWNERS[owner] ?? OTHERS[sum % OTHERS.length]!;
}

type Props = {
  name: string;
  tree: FlameTree;
  lines: readonly number[];
  counted: string;
  find: string;
  zoom: number;
  onZoom: (frame: number) => void;
};

export function FlameGraph(props: Props): JSX.Element {
  const { tree, zoom, find } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const layout = useMemo(() => layFlame(tree), [tree]);
  const hits = useMemo(() => searchFlame(tree, find), [tree, find]);
  const pointed = useMemo(() => signal(-1), [tree]);
  const focus = useRef(-1);
  const rows = visibleRows(tree, layout, zoom);
  useEffect(
    () =>
      effect(() => {
        void shownTheme.value;
        if (width.value > 40)
          drawFlame(sharpContext(canvas.current!, width.value, rows * ROW), {
            ...props,
            layout,
            hits,
            width: width.value,
            pointed: pointed.value,
          });
      }),
    [tree, layout, hits, zoom, rows],
  );
  useEffect(
    () =>
      exposeChart(props.name, () => ({
        names: tree.names,
        totals: [...tree.totals],
        parents: [...tree.parents],
        zoom,
        share: hits.share,
      })),
    [props.name, tree, zoom, hits],
  );
  const under = (event: MouseEvent): number => {
    const area = canvas.current!.getBoundingClientRect();
    return frameAt(
      tree,
      layout,
      zoom,
      (event.clientX - area.left) / area.width,
      Math.floor((event.clientY - area.top) / ROW),
    );
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key.startsWith("Arrow"))
      focus.current = neighbour(tree, focus.current < 0 ? zoom : focus.current, event.key);
    else if (event.key === "Enter") props.onZoom(focus.current);
    else if (event.key === "Escape" || event.key === "Backspace")
      props.onZoom(zoom < 0 ? -1 : tree.parents[zoom]!);
    else return;
    pointed.value = focus.current;
    event.preventDefault();
    event.stopPropagation();
  };
  const pick = (event: MouseEvent): void => {
    const frame = under(event);
    focus.current = frame;
    props.onZoom(frame === zoom ? (tree.parents[zoom] ?? -1) : frame);
  };
  return (
    <>
      <div
        class="flame-box"
        ref={box}
        data-chart={props.name}
        tabIndex={0}
        role="group"
        onKeyDown={onKey}
        aria-label="Flame graph. Arrow keys go to callers, calls and neighbours, Enter zooms, Escape zooms out. The same functions stand in the table below."
      >
        <canvas
          ref={canvas}
          aria-hidden="true"
          onMouseMove={(event) => (pointed.value = under(event))}
          onMouseLeave={() => (pointed.value = focus.current)}
          onClick={pick}
        />
      </div>
      <Read {...props} layout={layout} pointed={pointed} share={hits.share} />
    </>
  );
}

/** So many rows as anything of the zoomed frame reaches down. */
function visibleRows(tree: FlameTree, layout: FlameLayout, zoom: number): number {
  if (zoom < 0) return Math.max(1, layout.rows);
  const [left, right] = zoomRange(layout, zoom);
  let deepest = layout.depth[zoom]!;
  for (let i = zoom; i < tree.parents.length; i++)
    if (layout.from[i]! >= left && layout.to[i]! <= right + 1e-12)
      deepest = Math.max(deepest, layout.depth[i]!);
  return deepest + 1;
}

function Read({
  tree,
  lines,
  counted,
  find,
  zoom,
  layout,
  pointed,
  share,
}: Props & { layout: FlameLayout; pointed: { value: number }; share: number }): JSX.Element {
  const frame = pointed.value >= 0 ? pointed.value : zoom;
  const said = find ? `“${find}” takes ${formatPercent(100 * share)} of the time. ` : "";
  if (frame < 0)
    return (
      <p class="flame-read" role="status">
        {said ||
          `${formatDuration(layout.whole)} in all. Point at a frame to read it; click to zoom.`}
      </p>
    );
  const where = tree.files[frame] ? `${tree.files[frame]}:${lines[frame]}` : "built in";
  return (
    <p class="flame-read" role="status">
      {said}
      <b>{tree.names[frame]}</b> {where} · total {formatDuration(tree.totals[frame]!)} (
      {formatPercent((100 * tree.totals[frame]!) / layout.whole)}) · self{" "}
      {formatDuration(tree.selves[frame]!)} · {tree.counts[frame]} {counted}
    </p>
  );
}

type Drawn = {
  tree: FlameTree;
  layout: FlameLayout;
  zoom: number;
  width: number;
  pointed: number;
  find: string;
  hits: { isHit: Uint8Array };
};

function drawFlame(
  g: CanvasRenderingContext2D,
  { tree, layout, zoom, width, pointed, find, hits }: Drawn,
): void {
  const [left, right] = zoomRange(layout, zoom);
  const above = new Set(zoom < 0 ? [] : lineageOf(tree, zoom));
  const scale = width / (right - left);
  g.font = FONT;
  g.textBaseline = "middle";
  g.textAlign = "left";
  for (let i = 0; i < tree.parents.length; i++) {
    const isAbove = above.has(i);
    const from = isAbove ? 0 : (layout.from[i]! - left) * scale,
      to = isAbove ? width : (layout.to[i]! - left) * scale;
    if (
      to <= 0 ||
      from >= width ||
      to - from < 0.4 ||
      (zoom >= 0 && layout.depth[i]! <= layout.depth[zoom]! && !isAbove)
    )
      continue;
    const y = layout.depth[i]! * ROW,
      x = Math.max(0, from),
      end = Math.min(width, to);
    const isFaint = find !== "" && !hits.isHit[i];
    g.fillStyle = tint(
      ownerColor(ownerOf(tree.files[i]!)),
      isFaint ? 0.1 : isAbove && i !== zoom ? 0.22 : find ? 0.75 : 0.42,
    );
    g.fillRect(x, y, Math.max(0.6, end - x - 1), ROW - 1);
    if (i === pointed) {
      g.strokeStyle = color("--ink");
      g.lineWidth = 1.5;
      g.strokeRect(x + 1, y + 1, Math.max(1, end - x - 3), ROW - 3);
    }
    const text = fitting(tree.names[i]!, end - x);
    if (!text) continue;
    g.fillStyle = isFaint ? color("--muted") : color("--ink");
    g.fillText(text, x + 4, y + ROW / 2);
  }
}
