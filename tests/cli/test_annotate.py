"""`sonde annotate`, and queries of `sonde jobs`."""

import json
from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob


def listed(store: Path, query: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    words = ["jobs", "--store", str(store), "--query", query, "--json"]
    assert run_command_line(words) == 0
    return [document["job"] for document in json.loads(capsys.readouterr().out)]


def test_annotated_jobs_are_found_by_tag_and_metric(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = FakeClock()
    for name, loss in (("a", 0.25), ("b", 0.75)):
        job = FakeJob(str(tmp_path / name), clock=clock)
        job.worker().scalar("loss", 1, loss).flush().beat()
        clock.advance(60)
        job.end()
    words = ["annotate", "a", "--store", str(tmp_path), "--tag", "baseline", "--note", "the first"]
    assert run_command_line(words) == 0
    assert capsys.readouterr().out == "a: baseline; the first\n"
    assert listed(tmp_path, "tag:baseline", capsys) == ["a"]
    assert listed(tmp_path, "loss>0.5", capsys) == ["b"]
    assert listed(tmp_path, "-tag:baseline loss<0.5", capsys) == []
    assert run_command_line(["jobs", "--store", str(tmp_path)]) == 0
    assert "[baseline] the first" in capsys.readouterr().out


def test_an_invalid_query_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["jobs", "--store", str(tmp_path), "--query", "loss<low"]) == 2
    assert "'low' is not a number" in capsys.readouterr().err
