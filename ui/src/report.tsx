// The report's script begins here; the report is readable without it.

import "./report.css";
import { startColors } from "./colors";
import { startState } from "./state";

startState();
startColors();
