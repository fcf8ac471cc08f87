"""One hour of live updates, sent to a page as fast as it can draw them."""

import json
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import CDPSession, Page, Route

from benchmarks.ui_browser import PAINTED, opening_ms

SECONDS_BEFORE = 600  # the job has been running for this time

# Replaces the event source of the page, and counts pending requests.
_FAKED = """
window.__waiting = 0;
const originalFetch = window.fetch.bind(window);
window.fetch = async (...words) => {
  window.__waiting += 1;
  try { return await originalFetch(...words); } finally { window.__waiting -= 1; }
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
  const send = (kind, data, lastEventId) => {{
    const event = new MessageEvent(kind, {{ data: JSON.stringify(data), lastEventId }});
    window.__source.dispatchEvent(event);
  }};
  await until(() => window.__source);
  for (let second = first; second < first + count; second++) {{
    send("samples", {{ from: start + second - 1, to: start + second }}, String(second));
    send("steps", {{ steps: {{ train: 2 * second }} }}, String(second));
    if (second % 10 === 0) send("status", {{ state: "running" }}, String(second));
    await painted();
    await until(() => window.__waiting === 0);
  }}
}}"""


@dataclass(frozen=True)
class Size:
    """Memory of a page after garbage collection."""

    heap_mb: float
    nodes: int
    listeners: int


def live_page(page: Page, address: str, job: str, charts: list[str]) -> dict[str, Any]:
    """Open a recorded job as if it were running; return its document."""
    document: dict[str, Any] = {}

    def running(route: Route) -> None:
        answer = route.fetch()
        document.update(answer.json())
        end = document["t0"] + document.get("sent", SECONDS_BEFORE)
        route.fulfill(body=json.dumps({**document, "state": "running", "t1": end}))

    page.add_init_script(_FAKED)
    page.route(lambda url: url.endswith(f"/api/jobs/{job}"), running)
    opening_ms(page, f"{address}#/jobs/{job}/nodes", charts)
    return document


def send_updates(page: Page, document: dict[str, Any], first: int, count: int) -> None:
    """Send updates for `count` seconds, one after another."""
    document["sent"] = first + count
    page.evaluate(_HOUR, [document["t0"], first, count])


def size_of(session: CDPSession) -> Size:
    """Collect garbage and measure."""
    for _ in range(2):
        session.send("HeapProfiler.collectGarbage")
    metrics = {
        metric["name"]: metric["value"]
        for metric in session.send("Performance.getMetrics")["metrics"]
    }
    counts = session.send("Memory.getDOMCounters")
    return Size(
        metrics["JSHeapUsedSize"] / 1e6, int(counts["nodes"]), int(counts["jsEventListeners"])
    )
