"""`sonde collectives` over a recorded job."""

import json
from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from tests.results.test_collectives import trained


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    trained(uri=str(tmp_path / "store" / "pair"))
    return ["collectives", "pair", "--store", str(tmp_path / "store")]


def test_the_slow_worker_is_named(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(words) == 0
    output = capsys.readouterr().out
    assert "24 calls of 2 workers, 12 matched collectives" in output
    assert "Worker 1 is slow" in output


def test_output_as_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line([*words, "--json", "--start-step", "4"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["slow_worker"], document["matched"]) == (1, 8)
    assert document["workers"][1]["last"] == 8
    assert document["clocks"][0]["source"] == "reference"
