"""Some damaged files of Sonde; `make torture` runs many more."""

import pytest

from tests.torture.damaged_package import REPORT, STARTUP, Bench

CASES = (
    ("processes", STARTUP, "raises SystemExit"),
    ("dies", STARTUP, "raises KeyboardInterrupt"),
    ("child dies", STARTUP, "emptied"),
    ("processes", "hook/injected.py", "deleted"),
    ("processes", "hook/injected.py", "raises KeyboardInterrupt"),
    ("dies", "hook/failure.py", "calls sys.exit"),
    ("child dies", "guard.py", "raises SystemExit"),
    ("dies", "hook/injected.py", "recurses"),
    ("processes", None, "moved"),
    ("training", "hook/session.py", "raises SystemExit"),
    ("training", REPORT, "raises SystemExit"),
    ("training", REPORT, "deleted"),
    ("training", None, "moved"),
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("damaged"))


@pytest.mark.parametrize(("program", "path", "damage"), CASES)
def test_a_damaged_file_of_sonde_does_not_affect_the_program(
    bench: Bench, program: str, path: str | None, damage: str
) -> None:
    outcome = bench.check(program, path, damage, 0)
    assert outcome.is_held, outcome.crash
