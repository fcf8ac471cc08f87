"""Some damages to files of Sonde, in every test run; `make torture` runs many more."""

import pytest

from tests.torture.damaged_package import Bench

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


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("damaged"))


@pytest.mark.parametrize(("program", "path", "damage"), CASES)
def test_a_damaged_file_of_ours_never_reaches_the_program(
    bench: Bench, program: str, path: str | None, damage: str
) -> None:
    outcome = bench.check(program, path, damage, 0)
    assert outcome.is_held, outcome.crash
