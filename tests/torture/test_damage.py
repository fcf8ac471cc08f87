"""Damaged files of finished jobs: a small share of `python -m tests.torture.damage`."""

from pathlib import Path

import pytest

from tests.torture.damage import DAMAGES, Counts, Intact, run


def test_damage_of_any_file_is_harmless_or_reported(tmp_path: Path) -> None:
    counts = run(tmp_path, seed=16, max_cases=48)
    assert counts.crashes == []
    assert counts.silent == []
    assert counts.reported > 20


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Intact:
    return Intact(tmp_path_factory.mktemp("sealed"), is_sealed=True)


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("ending", ["tensors.json", "exit.json"])
def test_damage_of_important_files_is_reported(sealed: Intact, ending: str, kind: str) -> None:
    counts = Counts()
    sealed.try_damage(next(file for file in sealed.files if file.endswith(ending)), kind, 1, counts)
    assert (counts.silent, counts.crashes) == ([], [])
