// Entry point of the dashboard.

import { effect } from "@preact/signals";
import { render } from "preact";
import "./app.css";
import { startColors } from "./colors";
import { onKey } from "./gestures";
import { startHeadline } from "./headline";
import { startInspection } from "./inspect";
import { startLive } from "./live";
import { route, startRouter } from "./router";
import { Shell } from "./shell";
import { job, readAddress, startState } from "./state";

startState();
startColors();
startRouter();
startLive();
startInspection();
startHeadline();
addEventListener("keydown", onKey);
effect(() => {
  void [route.value.parameters.t, route.value.parameters.sel];
  if (job.peek() && job.peek()?.job === route.value.job) readAddress();
});
render(<Shell />, document.getElementById("app") ?? document.body);
