"""Real training scripts print, leave behind and end with exactly the same when they are watched.

Each script of the folder `training` prints its losses to the last bit and at its end digests of
all weights, of the optimizers' state and of the random number generators. It runs alone, watched
with the usual settings, and watched with everything kept at every step, all at the same time.
"""

import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.journeys.sonde_cli import COMMAND, PYTHON, plain_environment

SCRIPTS = Path(__file__).parent / "training"
NAMES = sorted(path.stem for path in SCRIPTS.glob("*.py") if path.stem != "telling")

TORCHRUN = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
SONDE = (*COMMAND, "run", "--quiet", "--name", "job")
WATCHED = {
    "as usual": SONDE,
    "with everything kept": (*SONDE, "--save", "all:every=1,values,histogram"),
}

pytestmark = pytest.mark.timeout(600)


@dataclass(frozen=True)
class Ended:
    """What a script left behind."""

    code: int
    output: list[str]
    remarks: list[str]


def command(name: str) -> tuple[str, ...]:
    script = str(SCRIPTS / f"{name}.py")
    if name in ("ddp", "fsdp2"):
        return (*TORCHRUN, script)
    if name == "checkpoint_resume":
        return ("sh", "-c", f"{PYTHON} {script} && {PYTHON} {script}")
    return (PYTHON, script)


def end_of(folder: Path, words: Sequence[str]) -> Ended:
    folder.mkdir()
    done = subprocess.run(
        words,
        cwd=folder,
        env={**plain_environment(), "PYTHONHASHSEED": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    remarks = [re.sub(r"\d+", "0", line) for line in done.stderr.splitlines()]
    return Ended(code, done.stdout.splitlines(), sorted(remarks))


@pytest.mark.parametrize("name", NAMES)
def test_a_watched_script_is_the_same_to_the_last_bit(name: str, tmp_path: Path) -> None:
    script = command(name)
    with ThreadPoolExecutor() as pool:
        alone = pool.submit(end_of, tmp_path / "alone", script)
        watched = {
            how: pool.submit(end_of, tmp_path / how, (*words, *script))
            for how, words in WATCHED.items()
        }
    assert alone.result().output, "a script that prints nothing proves nothing"
    for how, one in watched.items():
        assert one.result() == alone.result(), how
