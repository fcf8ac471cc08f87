"""Commands that only read do not import pandas; rules of users still can."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.training import with_losses

_RUN = """
import sys
from sonde.cli._main import run_command_line
assert run_command_line(sys.argv[1:]) == 0
print("pandas" in sys.modules)
"""
_CONVERT = """
from sonde.cli._arrow import keep_pandas_out
keep_pandas_out()
import pyarrow as pa
frame = pa.table({"step": [1, 2]}).to_pandas()
print(pa.table(frame).num_rows, pa.array(frame["step"]).to_pylist())
"""


def output(*words: str) -> str:
    done = subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("words", [("report", "--at-end"), ("check",)])
def test_reading_commands_do_not_import_pandas(words: tuple[str, ...], tmp_path: Path) -> None:
    uri = str(tmp_path / "job")
    with_losses([1.0] * 20, uri=uri)
    assert output("-c", _RUN, words[0], uri, *words[1:]) == "False"


def test_conversions_to_pandas_still_work() -> None:
    assert output("-c", _CONVERT) == "2 [1, 2]"
