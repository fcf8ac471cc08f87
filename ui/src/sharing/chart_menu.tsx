// The menu of a chart: save it as an image, or its data as CSV.

import type { JSX, RefObject } from "preact";
import { showNotice } from "../controls/notice";
import type { TableSpec } from "../generated/chart_specs";
import { Popover } from "../popover";
import { csvOf } from "./csv";
import { download, fileName } from "./download";
import { pictureOf } from "./picture";

type Props = {
  title: string;
  /** The element to draw. */
  box: RefObject<HTMLElement | null>;
  /** The data of the chart, computed when it is saved. */
  table: () => TableSpec;
};

export function ChartMenu({ title, box, table }: Props): JSX.Element {
  const saveImage = (): void => {
    if (!box.current) return;
    pictureOf(box.current).then(
      (image) => download(image, fileName(title, "png")),
      () => showNotice("This browser cannot save charts as images. Save the data as CSV.", true),
    );
  };
  const saveData = (): void => {
    const content = new Blob([csvOf(table())], { type: "text/csv;charset=utf-8" });
    download(content, fileName(title, "csv"));
  };
  return (
    <Popover label="Save" title={`Save ${title}`} kind="menu" isRight>
      <button type="button" onClick={saveImage}>
        Image (PNG)
      </button>
      <button type="button" onClick={saveData}>
        Data (CSV)
      </button>
    </Popover>
  );
}
