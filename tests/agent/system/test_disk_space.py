import math
import shutil
from pathlib import Path

import pytest

from sonde.agent.system import Machine
from sonde.agent.system.disk_space import DiskSpace
from sonde.errors import NothingToCollectError
from tests.fakes.machine import named


def test_a_file_system_with_several_paths_is_recorded_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    space = DiskSpace(Machine(paths=(tmp_path, tmp_path / "a", tmp_path / "not" / "yet")))
    space.open()
    (mount,) = {series.device for series in space.series}
    assert tmp_path.is_relative_to(mount)
    assert Path(mount).is_mount()


def test_free_space_excludes_reserved_blocks(tmp_path: Path) -> None:
    space = DiskSpace(Machine(paths=(tmp_path,)))
    space.open()
    free, percent = space.read(0.0)
    assert free == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.1)
    assert 0 <= percent <= 100


def test_values_of_a_removed_file_system_are_unknown(tmp_path: Path) -> None:
    space = DiskSpace(Machine(paths=(tmp_path,)))
    space.open()
    space._mounts = (tmp_path / "gone",)
    assert all(math.isnan(value) for value in named(space, list(space.read(0.0))).values())


def test_collector_is_not_available_without_paths() -> None:
    with pytest.raises(NothingToCollectError, match="no paths"):
        DiskSpace(Machine()).open()
