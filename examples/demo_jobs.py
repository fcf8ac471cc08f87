"""Two finished jobs beside the one of `make demo`: an H200 as it was recorded, and 64 nodes.

    python -m examples.demo_jobs FOLDER

The samples of the GPU are real; of its steps only their number was recorded, so they lie evenly in
their time. The 64 nodes are made up. Rules judge both as they judge any job.
"""

import subprocess
import sys
from pathlib import Path

from tests.fakes.h200 import h200_job
from tests.fakes.stores import fleet

RECORDED, MADE_UP = "h200-recording", "made-up-64-nodes"
# Rules wait for minutes before they blame a GPU; the recording is shorter than that.
SCALED = ("--set", "LowGPUUtilization.window=40")


def fill(store: Path) -> None:
    """Writes both jobs, unless they are there, and asks the rules."""
    for name in (RECORDED, MADE_UP):
        if (store / name).exists():
            continue
        if name == RECORDED:
            h200_job(uri=str(store / name))
        else:
            fleet(str(store), 64, name)
        sonde = [sys.executable, "-m", "sonde", "check", name, "--store", str(store), "--record"]
        more = SCALED if name == RECORDED else ()
        subprocess.run([*sonde, *more], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    fill(Path(sys.argv[1]).absolute())
