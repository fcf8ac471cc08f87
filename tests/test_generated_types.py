"""The TypeScript types that are generated from Python."""

from pathlib import Path

import pytest

from ui.generate_types import FOLDER, files


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_generated_types_of_the_dashboard_match_the_python_classes(path: Path) -> None:
    written = path.read_text(encoding="utf-8") if path.exists() else ""
    assert written == files()[path], f"{path.name} is out of date; run: make ui-types"


def test_every_generated_file_is_still_written() -> None:
    assert set(FOLDER.iterdir()) == set(files()), "remove files that are no longer generated"
