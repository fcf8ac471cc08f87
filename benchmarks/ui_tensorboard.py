"""TensorBoard in its own environment, showing the same series."""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from playwright.sync_api import Page

from benchmarks.ui_browser import PAINTED

VERSION = "2.21.0"
REQUIREMENTS = (f"tensorboard=={VERSION}", "setuptools<81")
_TIMEOUT_SECONDS = 600

_WRITE = """
import sys
import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
folder, values = sys.argv[1], np.load(sys.argv[2])
writer = EventFileWriter(folder, max_queue_size=10000, flush_secs=600)
for step in range(values.shape[1]):
    scalars = [
        Summary.Value(tag=f"series/{number}", simple_value=float(row[step]))
        for number, row in enumerate(values)
    ]
    writer.add_event(Event(wall_time=1.79e9 + step / 2, step=step, summary=Summary(value=scalars)))
writer.close()
"""
# All replies have arrived, and a frame has passed; the spinner may continue.
_DRAWN = f"""async ([count]) => {{
  {PAINTED}
  const replies = () => performance.getEntriesByType("resource")
    .filter((entry) => entry.name.includes("timeSeries") && entry.responseEnd > 0);
  const charts = () => document.querySelectorAll("line-chart canvas, line-chart .series-view path");
  await until(() => charts().length >= count && replies().length >= count);
  await painted();
  return performance.now();
}}"""


@contextmanager
def tensorboard(python: Path, folder: Path, values: Path) -> Iterator[str]:
    """Start TensorBoard with these series; yield its address once it has read them."""
    logs = folder / "logs"
    subprocess.run([python, "-c", _WRITE, logs, values], check=True, capture_output=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(python), "-m", "tensorboard.main", "--logdir", str(logs), "--port", str(port)]
    with subprocess.Popen([*command, "--load_fast", "false"], stderr=subprocess.DEVNULL) as process:
        try:
            address = f"http://localhost:{port}"
            _wait(address, np.load(values).shape[1] - 1)
            yield address
        finally:
            process.terminate()


def _wait(address: str, last_step: int) -> None:
    """Wait until the last series is complete."""
    url = f"{address}/data/plugin/scalars/scalars?tag=series%2F9&run=."
    end = time.monotonic() + _TIMEOUT_SECONDS
    while time.monotonic() < end:
        with suppress(OSError), urllib.request.urlopen(url) as answer:
            points = json.loads(answer.read())
            if points and points[-1][1] == last_step:
                return
        time.sleep(1)
    sys.exit("TensorBoard did not read the series in time.")


def opening_ms(page: Page, address: str, charts: int) -> float:
    """Return the time from navigation until all charts are drawn."""
    page.goto(f"{address}/#timeseries", wait_until="commit")
    return float(page.evaluate(_DRAWN, [charts]))
