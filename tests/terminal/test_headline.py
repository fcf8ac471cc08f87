import pytest

from sonde.results.headline import Figure
from sonde.terminal.headline import headline_lines

FIGURES = (
    Figure("progress", "Progress", 40.0, "percent", "step 40 of 100, 30 s left"),
    Figure("loss", "Loss", 0.25, note="falling", curve=(1.0, 0.5, None, 0.25)),
    Figure("utilization", "GPU utilization", 12.0, "percent", "0 of 1 GPU busy", "warning"),
)


def test_figures_are_next_to_each_other_with_their_notes() -> None:
    titles, values, notes = (line.plain for line in headline_lines(FIGURES, 80)[:3])
    assert titles.split("  ")[0] == "Progress"
    assert values.split() == ["40%", "0.25", "█▃", "▁", "12%"]
    assert "step 40 of 100, 30 s" in notes
    assert notes.endswith("0 of 1 GPU busy")


@pytest.mark.parametrize("width", [1, 10, 20, 40, 79, 200])
def test_headline_fits_any_terminal(width: int) -> None:
    lines = headline_lines(FIGURES, width)
    assert max(line.cell_len for line in lines) <= width


def test_without_figures_there_is_no_headline() -> None:
    assert headline_lines(()) == []
