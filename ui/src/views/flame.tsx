// An icicle flame graph: callers above callees, width is time.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { FONT, sharpContext } from "../canvas";
import { color } from "../colors";
import { formatCount, formatDuration, formatPercent } from "../format";
import { exposeChart } from "../inspect";
import { useWidth } from "../resource";
import { shownTheme } from "../state";
import { tint } from "../timeline/drawing";
import {
  type FlameLayout,
  type FlameTree,
  frameAt,
  layoutFlame,
  lineageOf,
  neighbor,
  ownerOf,
  searchFlame,
  zoomRange,
} from "../timeline/flame_layout";
import { fitting } from "../timeline/layout";

const ROW = 18;
const OWNER_COLORS: Record<string, string> = {
  "your code": "--n2",
  torch: "--n1",
  Python: "--base",
  "built-in": "--base",
  numpy: "--n3",
};
const PACKAGE_COLORS = ["--n4", "--n3"]; // the colors of phases mean phases only

/** The CSS variable of a code owner. */
export function ownerColor(owner: string): string {
  let sum = 0;
  for (const letter of owner) sum = (sum * 31 + letter.codePointAt(0)!) % 997;
  return OWNER_COLORS[owner] ?? PACKAGE_COLORS[sum % PACKAGE_COLORS.length]!;
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
  const layout = useMemo(() => layoutFlame(tree), [tree]);
  const hits = useMemo(() => searchFlame(tree, find), [tree, find]);
  const hovered = useMemo(() => signal(-1), [tree]);
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
            pointed: hovered.value,
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
      focus.current = neighbor(tree, focus.current < 0 ? zoom : focus.current, event.key);
    else if (event.key === "Enter") props.onZoom(focus.current);
    else if (event.key === "Escape" || event.key === "Backspace")
      props.onZoom(zoom < 0 ? -1 : tree.parents[zoom]!);
    else return;
    hovered.value = focus.current;
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
        aria-label="Flame graph. Arrow keys move to callers, callees and siblings, Enter zooms in, Escape zooms out. The table below lists the same functions."
      >
        <canvas
          ref={canvas}
          aria-hidden="true"
          onMouseMove={(event) => (hovered.value = under(event))}
          onMouseLeave={() => (hovered.value = focus.current)}
          onClick={pick}
        />
      </div>
      <FrameReadout {...props} layout={layout} pointed={hovered} share={hits.share} />
    </>
  );
}

/** The depth of the zoomed subtree. */
function visibleRows(tree: FlameTree, layout: FlameLayout, zoom: number): number {
  if (zoom < 0) return Math.max(1, layout.rows);
  const [left, right] = zoomRange(layout, zoom);
  let deepest = layout.depth[zoom]!;
  for (let i = zoom; i < tree.parents.length; i++)
    if (layout.from[i]! >= left && layout.to[i]! <= right + 1e-12)
      deepest = Math.max(deepest, layout.depth[i]!);
  return deepest + 1;
}

function FrameReadout({
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
  const searchSummary = find ? `“${find}”: ${formatPercent(100 * share)} of total time. ` : "";
  if (frame < 0)
    return (
      <p class="flame-read" role="status">
        {searchSummary ||
          `Total: ${formatDuration(layout.total)}. Hover over a frame for details; click to zoom.`}
      </p>
    );
  const where = tree.files[frame] ? `${tree.files[frame]}:${lines[frame]}` : "built-in";
  return (
    <p class="flame-read" role="status">
      {searchSummary}
      <b>{tree.names[frame]}</b> {where} · total {formatDuration(tree.totals[frame]!)} (
      {formatPercent((100 * tree.totals[frame]!) / layout.total)}) · self{" "}
      {formatDuration(tree.selves[frame]!)} · {formatCount(tree.counts[frame]!)}{" "}
      {counted === "looks" ? "samples" : counted}
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
