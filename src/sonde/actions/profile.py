"""`profile`: looks deeper, at the workers that a finding is about."""

from typing import ClassVar

from sonde.actions._action import Action, Occasion, key
from sonde.records.finding import Finding
from sonde.records.profile import ProfileKind
from sonde.records.request import RequestKind
from sonde.settings import Key
from sonde.settings.checks import listed, one_of, whole_number
from sonde.store.control import TO_NODES, TO_WORKERS, send_request

_KIND = one_of(one.value for one in ProfileKind)


class Profile(Action):
    """Let the workers concerned profile their next steps."""

    keys: ClassVar[tuple[Key, ...]] = (
        key(
            *("kinds", listed(_KIND), '["operators", "python"]'),
            f"what to look at: {', '.join(one.value for one in ProfileKind)}",
        ),
        key("steps", whole_number(1), "3", "how many steps of each"),
    )
    usual_cool_down_seconds: ClassVar[float] = 1800.0  # a profile costs the job time
    is_on_the_job: ClassVar[bool] = True

    kinds: tuple[str, ...] = ("operators", "python")
    steps: int = 3

    def perform(self, occasion: Occasion) -> str:
        finding = occasion.episode.finding
        arguments = {
            "kinds": ",".join(self.kinds),
            "steps": str(self.steps),
            "by": finding.rule,
            **_whom(finding),
        }
        send_request(occasion.backend, occasion.clock, RequestKind.PROFILE, arguments)
        return f"asked {_named(finding)} for {' and '.join(self.kinds)}"

    def trial(self, occasion: Occasion) -> str:
        finding = occasion.episode.finding
        return f"would ask {_named(finding)} for {' and '.join(self.kinds)}, {self.steps} steps"


def _whom(finding: Finding) -> dict[str, str]:
    if finding.worker is not None:
        return {TO_WORKERS: str(finding.worker)}
    return {TO_NODES: finding.node} if finding.node else {}


def _named(finding: Finding) -> str:
    if finding.worker is not None:
        return f"worker {finding.worker}"
    return f"the workers of {finding.node}" if finding.node else "all workers"
