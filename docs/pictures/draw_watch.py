"""Draws the live view of a job as SVG: `python docs/pictures/draw_watch.py JOB`."""

import re
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI

from sonde.clock import SystemClock
from sonde.results.live import Observer
from sonde.settings import default_store
from sonde.store.places import find_job
from sonde.terminal.watch import frame

WIDTH = 100

if __name__ == "__main__":
    backend = find_job(sys.argv[1], default_store())
    now = Observer(backend, SystemClock()).poll()
    console = Console(record=True, width=WIDTH, force_terminal=True, file=sys.stderr)
    for line in frame(now, WIDTH):
        console.print(line, no_wrap=True, overflow="crop")
    # without the web fonts that rich references
    template = re.sub(r"@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    template = re.sub(r"<!--.*?-->", "", template)
    picture = console.export_svg(title="sonde watch", theme=MONOKAI, code_format=template)
    Path(__file__).with_name("watch.svg").write_text(picture)
