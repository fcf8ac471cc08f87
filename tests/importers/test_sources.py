"""Ranks, nodes and processes from the names of recordings."""

from pathlib import Path

import pytest

from sonde.errors import UsageError
from sonde.importers._sources import find_sources

ENDINGS = (".json", ".json.gz")


@pytest.mark.parametrize(
    ("name", "rank", "node", "pid"),
    [
        ("rank3.json", 3, "imported", 0),
        ("trace_rank_12.json.gz", 12, "imported", 0),
        ("kineto-rank-7-of-8.json", 7, "imported", 0),
        ("worker_2.1700000000.pt.trace.json.gz", 2, "imported", 0),
        ("box-a_4711.1700000000.pt.trace.json", 0, "box-a", 4711),
        ("gpu.example.org_9.123.pt.trace.json.gz", 0, "gpu.example.org", 9),
        ("trace.json", 0, "imported", 0),
        ("frank2.json", 0, "imported", 0),
    ],
)
def test_file_names_contain_rank_node_and_process(
    tmp_path: Path, name: str, rank: int, node: str, pid: int
) -> None:
    (tmp_path / name).touch()
    [source] = find_sources(tmp_path / name, ENDINGS)
    assert (source.rank, source.node, source.pid) == (rank, node, pid)


def test_files_without_a_rank_get_free_ranks(tmp_path: Path) -> None:
    for name in ("a.json", "b.json", "rank0.json"):
        (tmp_path / name).touch()
    sources = {source.path.name: source.rank for source in find_sources(tmp_path, ENDINGS)}
    assert sources == {"a.json": 1, "b.json": 2, "rank0.json": 0}


def test_each_process_of_a_host_is_a_rank(tmp_path: Path) -> None:
    for name in ("box_20.1.pt.trace.json", "box_20.2.pt.trace.json", "box_21.1.pt.trace.json"):
        (tmp_path / name).touch()
    assert [source.rank for source in find_sources(tmp_path, ENDINGS)] == [0, 0, 1]


def test_the_error_for_a_folder_without_recordings_names_the_expected_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UsageError, match=r"ends in \.json or \.json\.gz"):
        find_sources(tmp_path, ENDINGS)


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        find_sources(tmp_path / "nothing.json", ENDINGS)
