"""Write two finished jobs for `make demo`: an H200 recording and a synthetic job with 64 nodes.

    python -m examples.demo_jobs FOLDER

GPU samples are real. Only the number of steps was recorded, so steps are distributed evenly. The
64 nodes are synthetic. Rules run on both as on any job.
"""

import subprocess
import sys
from pathlib import Path

from tests.fakes.h200 import h200_job
from tests.fakes.stores import fleet

RECORDED, SYNTHETIC = "h200-recording", "made-up-64-nodes"
# By default, the rule requires minutes of data; the recording is shorter.
SCALED = ("--set", "LowGPUUtilization.window=40")


def fill(store: Path) -> None:
    """Write both jobs if they do not exist, and run the rules."""
    for name in (RECORDED, SYNTHETIC):
        if (store / name).exists():
            continue
        if name == RECORDED:
            h200_job(uri=str(store / name))
        else:
            fleet(str(store), 64, name)
        sonde = [sys.executable, "-m", "sonde", "check", name, "--store", str(store), "--record"]
        options = SCALED if name == RECORDED else ()
        subprocess.run([*sonde, *options], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    fill(Path(sys.argv[1]).absolute())
