"""One hour of live news, told to a page as fast as it can draw them."""

import json
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import CDPSession, Page, Route

from benchmarks.ui_browser import PAINTED, opening_ms

SECONDS_BEFORE = 600  # the job runs for so long already

# The page's source of news is ours; how many answers it waits for is counted.
_FAKED = """
window.__waiting = 0;
const asked = window.fetch.bind(window);
window.fetch = async (...words) => {
  window.__waiting += 1;
  try { return await asked(...words); } finally { window.__waiting -= 1; }
};
window.EventSource = class extends EventTarget {
  constructor() {
    super();
    window.__source = this;
    setTimeout(() => this.onopen?.(new Event("open")));
  }
  close() {}
};
"""
_HOUR = f"""async ([start, first, count]) => {{
  {PAINTED}
  const tell = (kind, data, lastEventId) => {{
    const event = new MessageEvent(kind, {{ data: JSON.stringify(data), lastEventId }});
    window.__source.dispatchEvent(event);
  }};
  await until(() => window.__source);
  for (let second = first; second < first + count; second++) {{
    tell("samples", {{ from: start + second - 1, to: start + second }}, String(second));
    tell("steps", {{ steps: {{ train: 2 * second }} }}, String(second));
    if (second % 10 === 0) tell("status", {{ state: "running" }}, String(second));
    await painted();
    await until(() => window.__waiting === 0);
  }}
}}"""


@dataclass(frozen=True)
class Size:
    """What a page holds, after its garbage is gone."""

    heap_mb: float
    nodes: int
    listeners: int


def live_page(page: Page, address: str, job: str, charts: list[str]) -> dict[str, Any]:
    """A recorded job, opened as one that runs; its document."""
    document: dict[str, Any] = {}

    def running(route: Route) -> None:
        answer = route.fetch()
        document.update(answer.json())
        end = document["t0"] + document.get("told", SECONDS_BEFORE)
        route.fulfill(body=json.dumps({**document, "state": "running", "t1": end}))

    page.add_init_script(_FAKED)
    page.route(lambda url: url.endswith(f"/api/jobs/{job}"), running)
    opening_ms(page, f"{address}#/jobs/{job}/nodes", charts)
    return document


def tell(page: Page, document: dict[str, Any], first: int, count: int) -> None:
    """News of so many seconds, one after the other."""
    document["told"] = first + count
    page.evaluate(_HOUR, [document["t0"], first, count])


def size_of(session: CDPSession) -> Size:
    """After all that nobody needs is gone."""
    for _ in range(2):
        session.send("HeapProfiler.collectGarbage")
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    counts = session.send("Memory.getDOMCounters")
    return Size(
        found["JSHeapUsedSize"] / 1e6, int(counts["nodes"]), int(counts["jsEventListeners"])
    )
