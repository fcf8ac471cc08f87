"""Some damages to files of Sonde, in every test run; `make torture` runs many more."""

import pytest

from tests.torture.damaged_package import check

CASES = (
    ("processes", "collect/injected.py", "deleted"),
    ("processes", "collect/injected.py", "raises KeyboardInterrupt"),
    ("dies", "collect/failure.py", "calls sys.exit"),
    ("child dies", "guard.py", "raises SystemExit"),
    ("dies", "collect/injected.py", "recurses"),
    ("processes", None, "moved"),
    ("training", "collect/session.py", "raises SystemExit"),
    ("training", None, "moved"),
)


@pytest.mark.parametrize(("program", "path", "damage"), CASES)
def test_a_damaged_file_of_ours_never_reaches_the_program(
    program: str, path: str | None, damage: str
) -> None:
    outcome = check(program, path, damage)
    assert outcome.is_held, outcome.crash
