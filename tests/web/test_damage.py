"""Damaged, incomplete or newer stores are still served."""

import zlib
from pathlib import Path

import pytest

from sonde.store.layout import attempt_key
from tests.fakes.clock import FakeClock
from tests.fakes.job import FakeJob
from tests.fakes.stores import Shape, write_job
from tests.web.served import served, served_job

PATHS = ("", "/heat", "/spans", "/breakdown", "/steps", "/scalars", "/fleet", "/rules", "/metrics")


@pytest.mark.parametrize("ending", [".parquet", ".rollup.parquet", ".json"])
def test_damaged_files_cost_only_their_own_data(tmp_path: Path, ending: str) -> None:
    write_job(str(tmp_path), "one", Shape(seconds=60))
    for path in sorted(tmp_path.rglob(f"*{ending}")):
        if path.name != "job.json":
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 0xFF
            path.write_bytes(data)
    client = served(str(tmp_path), FakeClock(1_790_000_100 * 1_000_000_000))
    for address in PATHS:
        answer = client.get(f"/api/jobs/one{address}")
        assert answer.status_code in (200, 400), (address, answer.text)
    assert client.get("/api/jobs").json()["total"] == 1


def test_a_job_of_a_newer_version_asks_to_upgrade_and_hides_no_other(tmp_path: Path) -> None:
    FakeJob(str(tmp_path / "old")).end()
    new = FakeJob(str(tmp_path / "new")).end()
    key = attempt_key(new.node, 1, "start")
    path = tmp_path / "new" / key
    text = path.read_text().partition("\n")[2].replace('"format": 1', '"format": 99')
    path.write_text(_with_checksum(text))
    client = served(str(tmp_path), FakeClock())
    rows = {job["name"]: job for job in client.get("/api/jobs").json()["jobs"]}
    assert "Upgrade" in rows["new"]["verdict"]
    assert rows["old"]["state"] == "completed"
    answer = client.get("/api/jobs/new")
    assert (answer.status_code, "Upgrade" in answer.json()["error"]) == (503, True)


def _with_checksum(rest: str) -> str:
    return f'{{"crc32": "{zlib.crc32(rest.encode()):08x}",\n{rest}'


def test_a_job_that_has_just_started_has_empty_views() -> None:
    client = served_job(FakeJob())
    assert client.get("heat").status_code == 200
    assert client.get("steps").json()["steps"] == []
    assert client.get("breakdown").json()["phases"] == []
    assert client.get("series?keys=cpu.utilization_percent").status_code == 200
