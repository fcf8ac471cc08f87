"""Takes screenshots of the dashboard: `python -m docs.pictures.draw_dashboard STORE`.

Run it from the root of the repository. The screenshots show the path of the store, so use a neutral
one such as /data/jobs. Missing jobs are created: a small real training with planted faults, a
recording of an H200, and a synthetic fleet of 64 nodes.
"""

import argparse
import base64
import subprocess
import sys
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser

from benchmarks.ui_browser import browser, dashboard
from docs.pictures.small_png import Pixels, small_png
from examples.demo_jobs import MADE_UP, RECORDED, fill
from sonde.demo import pytorch_script as demo_pytorch

FOLDER = Path(__file__).parent
SIZE = (1440, 900)
DEMO = "demo"
# Operators and Python functions of a few steps in the middle of the job.
PROFILED_WINDOWS = ("operators:start_step=120,num_steps=3", "python:start_step=130,num_steps=20")
PAGES = {
    "jobs": "#/",
    "overview": f"#/jobs/{DEMO}/overview",
    "nodes": f"#/jobs/{RECORDED}/nodes?sel=47-71",
    "fleet": f"#/jobs/{MADE_UP}/nodes",
    "tensors": f"#/jobs/{DEMO}/tensors?tensors=gradient%2Fbody.2.weight&shape=ridge",
    "timeline": f"#/jobs/{DEMO}/timeline",
    "rules": f"#/jobs/{DEMO}/rules",
}
_WAIT_UNTIL_LOADED = """async () => {
  const isVisible = (element) =>
    element.getBoundingClientRect().top < innerHeight && element.checkVisibility();
  const loading = () =>
    [...document.querySelectorAll("main [data-state=loading]")].filter(isVisible);
  while (loading().length) await new Promise((done) => setTimeout(done, 50));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
_DECODE_PNG = """async (text) => {
  const image = new Image();
  image.src = `data:image/png;base64,${text}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const drawing = canvas.getContext("2d");
  drawing.drawImage(image, 0, 0);
  const { data } = drawing.getImageData(0, 0, image.width, image.height);
  let bytes = "";
  for (let at = 0; at < data.length; at += 30000) {
    bytes += String.fromCharCode(...data.subarray(at, at + 30000));
  }
  return btoa(bytes);
}"""


def record(store: Path) -> None:
    """Record the missing jobs."""
    fill(store)
    if (store / DEMO).exists():
        return
    sonde = [sys.executable, "-m", "sonde", "run", "--quiet", "--store", str(store), "--name", DEMO]
    profiles = [word for window in PROFILED_WINDOWS for word in ("--profile", window)]
    command = [sys.executable, demo_pytorch.__file__, "35"]
    saved = ["--save", "gradients:every=10,histogram", "--save", "weights:every=50,values"]
    subprocess.run([*sonde, *profiles, *saved, "--node", "workstation", "--", *command], check=True)


def draw(opened: Browser, address: str, name: str, theme: str) -> None:
    """Take a screenshot of a page in one theme."""
    context = opened.new_context(
        viewport={"width": SIZE[0], "height": SIZE[1]},
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
        timezone_id="UTC",
    )
    page = context.new_page()
    page.goto(address)
    page.wait_for_load_state("networkidle")
    if name == "timeline":
        page.get_by_text("operators from step").click()
    page.evaluate(_WAIT_UNTIL_LOADED)
    page.mouse.move(0, 0)
    (FOLDER / f"{name}-{theme}.png").write_bytes(small_png(_pixels(opened, page.screenshot())))
    context.close()


def _pixels(opened: Browser, picture: bytes) -> Pixels:
    """Decode a screenshot into red, green and blue with the browser."""
    page = opened.new_page()
    data = base64.b64decode(page.evaluate(_DECODE_PNG, base64.b64encode(picture).decode()))
    page.close()
    width, height = SIZE
    return np.frombuffer(data, dtype=np.uint8).reshape(height, width, 4)[:, :, :3]


def main(store: Path) -> None:
    """Take screenshots of all pages and the report in both themes."""
    record(store)
    with dashboard(str(store)) as address, browser() as opened:
        for theme in ("light", "dark"):
            for name, path in PAGES.items():
                draw(opened, f"{address}{path}", name, theme)
            draw(opened, (store / DEMO / "report" / "report.html").as_uri(), "report", theme)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    main(parser.parse_args().store.absolute())
