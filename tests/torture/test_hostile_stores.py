"""A store with hostile jobs: all are listed, and none hangs or breaks others."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.cli._main import run_command_line
from sonde.web.catalog import Catalog
from tests.fakes.clock import FakeClock
from tests.torture.damage import query_all
from tests.torture.hostile_probe import limited_memory
from tests.torture.hostile_stores import GOOD, HARMLESS, HOSTILE, make_store

# One job of each kind is queried; all of them are listed.
_QUERIED = (
    "pipe-as-job-json",
    "endless-as-scalars",
    "outside-as-values",
    "sparse-as-scalars",
    "directory-as-rules-evaluations-json",
    "deep-0",
    "deep-5",
    "wrong-types-4",
    "large-numbers-2",
    "not-an-object-1",
    "frame-bomb",
    "deep-batch",
    "huge-batch",
    "swapped-families",
    "swapped-segments",
    "parquet-text-bomb",
    "parquet-other-columns",
    "manifest-of-elsewhere",
    "manifest-huge",
    "tensor-header-huge",
    "names",
    "links-in-a-circle",
)

# job.json exists, but cannot be read
_DAMAGED_FIRST = (
    *(f"{kind}-as-job-json" for kind in ("pipe", "endless", "outside", "sparse")),
    *(f"{kind}-0" for kind in ("deep", "wrong-types", "large-numbers", "not-an-object")),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    make_store(folder)
    return folder


@pytest.fixture(autouse=True)
def bounded_memory() -> Iterator[None]:
    with limited_memory():
        yield


def test_the_dashboard_lists_every_job_of_a_hostile_store(store: Path) -> None:
    catalog = Catalog(str(store), FakeClock())
    rows = {row["name"]: row for row in catalog.rows(catalog.find("", "", "name"))}
    assert set(rows) == {GOOD, *HOSTILE}
    assert rows[GOOD]["state"] == "completed"
    assert {name for name in _DAMAGED_FIRST if rows[name]["state"] != "broken"} == set()
    for name, row in rows.items():
        assert row["state"], name
        assert row["state"] != "broken" or row["verdict"], name


def test_the_command_line_lists_every_job_of_a_hostile_store(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["jobs", "--store", str(store), "--json"]) == 0
    jobs = {job["job"]: job for job in json.loads(capsys.readouterr().out)}
    assert set(jobs) == {GOOD, *HOSTILE}
    assert jobs[GOOD]["damages"] == []
    assert {name for name in _DAMAGED_FIRST if jobs[name]["state"] != "broken"} == set()


@pytest.mark.parametrize("name", _QUERIED)
def test_every_query_of_a_hostile_job_is_answered_or_refused(store: Path, name: str) -> None:
    clock = FakeClock()
    clock.advance(3600)
    _, lost = query_all(store / name, clock)
    damages = [loss["what"] for loss in lost if loss["reason"] in ("damaged", "missing")]
    assert bool(damages) == (name not in HARMLESS)
