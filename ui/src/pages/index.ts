// The pages of the dashboard. Pages with `ofJob` are tabs of a job, in this order.

import type { ComponentType } from "preact";
import { ComparePage } from "./compare";
import { FindingPage } from "./finding";
import { JobsPage } from "./jobs";
import { LogsPage } from "./logs";
import { NodesPage } from "./nodes";
import { OverviewPage } from "./overview";
import { RulesPage } from "./rules";
import { TensorsPage } from "./tensors";
import { TimelinePage } from "./timeline";

export type Page = {
  title: string;
  component: ComponentType;
  ofJob: boolean;
  /** Without a tab: reached by links. */
  isHidden?: boolean;
};

export const pages: Readonly<Record<string, Page>> = {
  jobs: { title: "Jobs", component: JobsPage, ofJob: false },
  compare: { title: "Compare", component: ComparePage, ofJob: false },
  overview: { title: "Overview", component: OverviewPage, ofJob: true },
  nodes: { title: "Nodes", component: NodesPage, ofJob: true },
  tensors: { title: "Tensors", component: TensorsPage, ofJob: true },
  timeline: { title: "Timeline", component: TimelinePage, ofJob: true },
  logs: { title: "Logs", component: LogsPage, ofJob: true },
  finding: { title: "Finding", component: FindingPage, ofJob: true, isHidden: true },
  rules: { title: "Rules", component: RulesPage, ofJob: true },
};
