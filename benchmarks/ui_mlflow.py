"""MLflow in its own environment, showing the same series."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.ui_browser import PAINTED

VERSION = "3.17.2"
REQUIREMENTS = (f"mlflow=={VERSION}",)
_TIMEOUT_SECONDS = 120
# No telemetry, and no processes for unused jobs, which would slow down its page.
_VARIABLES = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
}

# The largest batches that MLflow accepts.
_WRITE = """
import sys
import numpy as np
from mlflow.entities import Metric
from mlflow.tracking import MlflowClient
client, values = MlflowClient(tracking_uri=sys.argv[1]), np.load(sys.argv[2])
experiment = client.create_experiment("series")
run = client.create_run(experiment).info.run_id
for number, row in enumerate(values):
    for first in range(0, len(row), 1000):
        points = [
            Metric(f"series_{number}", float(value), 1_790_000_000_000 + 500 * step, step)
            for step, value in enumerate(row[first:first + 1000], first)
        ]
        client.log_batch(run, points)
client.set_terminated(run)
print(f"#/experiments/{experiment}/runs/{run}/model-metrics")
"""
# Every chart has a line; it is drawn one frame later.
_DRAWN = f"""async ([count]) => {{
  {PAINTED}
  const lines = () => [...document.querySelectorAll(".js-plotly-plot")].filter(
    (plot) => plot.data?.some((line) => line.x?.length > 1)
      && plot.querySelector(".js-line, canvas"),
  );
  await until(() => lines().length >= count);
  await painted();
  return performance.now();
}}"""


@contextmanager
def mlflow(python: Path, folder: Path, values: Path) -> Iterator[str]:
    """Start MLflow with these series in its default database; yield the address of their charts."""
    store = f"sqlite:///{folder}/mlflow.db"
    environment = os.environ | _VARIABLES
    words = [str(python), "-W", "ignore", "-c", _WRITE, store, str(values)]
    written = subprocess.run(words, check=True, capture_output=True, text=True, env=environment)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(python), "-m", "mlflow", "server", "--backend-store-uri", store]
    command += ["--host", "127.0.0.1", "--port", str(port), "--workers", "2"]
    with (folder / "mlflow.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, cwd=folder, env=environment, start_new_session=True
        )
    with process:
        try:
            address = f"http://127.0.0.1:{port}/"
            _wait(address)
            yield address + written.stdout.split()[-1]
        finally:
            os.killpg(process.pid, signal.SIGTERM)  # includes its worker processes


def _wait(address: str) -> None:
    """Wait until the server responds."""
    end = time.monotonic() + _TIMEOUT_SECONDS
    while time.monotonic() < end:
        with suppress(OSError), urllib.request.urlopen(f"{address}health"):
            return
        time.sleep(1)
    sys.exit("MLflow does not respond.")


def opening_ms(page: Page, address: str, charts: int) -> float:
    """Return the time from navigation until all charts are drawn."""
    page.goto(address, wait_until="commit")
    return float(page.evaluate(_DRAWN, [charts]))
