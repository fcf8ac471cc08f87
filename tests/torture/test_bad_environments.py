"""A few of the worst environments; `make torture` runs all of them."""

import os

import pytest

from tests.torture.bad_environments import ENDINGS, ENVIRONMENTS, check

CASES = (
    ("no temporary folder", "exit 7"),
    ("no temporary folder", "SIGTERM"),
    ("everything read-only", "exit 7"),
    ("5 open files", "exit 7"),
    ("11 open files", "not found"),
    ("2 processes", "SIGTERM"),
    ("8 processes", "exit 0"),
    ("store in the home of nobody", "exit 7"),
    ("current folder deleted", "exit 0"),
    ("all streams closed", "exit 7"),
    ("no file may grow", "SIGKILL"),
    ("other modules on PYTHONPATH", "exit 7"),
)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting and limiting other users takes root")
@pytest.mark.parametrize(("environment", "ending"), CASES, ids=" and ".join)
def test_a_command_ends_as_it_would_without_sonde(environment: str, ending: str) -> None:
    (chosen,) = [candidate for candidate in ENVIRONMENTS if candidate.name == environment]
    (how,) = [candidate for candidate in ENDINGS if candidate.name == ending]
    outcome = check(chosen, how)
    assert outcome.is_held, outcome
