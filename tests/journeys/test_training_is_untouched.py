"""Real training scripts have the same output, files and exit code when recorded.

Each script in `training` prints its losses with all bits, and at its end digests of all weights, of
the optimizers' state and of the random number generators. It runs without Sonde, with everything
saved at every step and, for one script of each kind, with default settings.
"""

import pytest

from sonde.records.notice import NoticeKind
from tests.journeys.scripts import ALONE, NAMES, Scripts

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_script_gives_the_same_results_to_the_last_bit(
    name: str, scripts: Scripts
) -> None:
    result = scripts.run(name)
    alone = result[ALONE]
    assert alone.output, "a script that prints nothing proves nothing"
    assert result == dict.fromkeys(result, alone)


@pytest.mark.parametrize("name", NAMES)
def test_no_component_of_the_hook_is_switched_off(name: str, scripts: Scripts) -> None:
    """A hook that fails would also leave the training unchanged."""
    notices = scripts.job(name).summary["notices"]
    assert [notice for notice in notices if notice["kind"] == NoticeKind.SWITCHED_OFF] == []


@pytest.mark.parametrize("name", ["fsdp2_adamw", "sharded_kinds"])
def test_hooks_never_start_a_collective(name: str, scripts: Scripts) -> None:
    """A collective that only some workers start would hang."""
    for result in scripts.run(name).values():
        reported = [line for line in result.output if "collectives of hooks" in line]
        assert reported
        assert [line for line in reported if not line.endswith("[]")] == []
