"""`profile`: profile the workers that a finding is about."""

from typing import ClassVar

from sonde.actions._action import Action, Occasion, key
from sonde.formats import pluralize
from sonde.records.finding import Finding
from sonde.records.profile import ProfileKind
from sonde.records.request import RequestKind
from sonde.settings import Key
from sonde.settings.checks import listed, one_of, whole_number
from sonde.store.control import TO_NODES, TO_WORKERS, send_request

_KIND = one_of(kind.value for kind in ProfileKind)


class Profile(Action):
    """Profile the next steps of the affected workers."""

    keys: ClassVar[tuple[Key, ...]] = (
        key(
            *("kinds", listed(_KIND), '["operators", "python"]'),
            f"what to profile: {', '.join(kind.value for kind in ProfileKind)}",
        ),
        key("steps", whole_number(1), "3", "steps per profile"),
    )
    default_cool_down_seconds: ClassVar[float] = 1800.0  # a profile costs the job time
    affects_job: ClassVar[bool] = True

    kinds: tuple[str, ...] = ("operators", "python")
    steps: int = 3

    def perform(self, occasion: Occasion) -> str:
        finding = occasion.episode.finding
        arguments = {
            "kinds": ",".join(self.kinds),
            "steps": str(self.steps),
            "by": finding.rule,
            **_recipients(finding),
        }
        send_request(occasion.backend, occasion.clock, RequestKind.PROFILE, arguments)
        return f"requested a profile ({', '.join(self.kinds)}) from {_recipient_text(finding)}"

    def trial(self, occasion: Occasion) -> str:
        finding, steps = occasion.episode.finding, pluralize(self.steps, "step")
        kinds, recipients = ", ".join(self.kinds), _recipient_text(finding)
        return f"would request a profile ({kinds}) of {steps} from {recipients}"


def _recipients(finding: Finding) -> dict[str, str]:
    if finding.worker is not None:
        return {TO_WORKERS: str(finding.worker)}
    return {TO_NODES: finding.node} if finding.node else {}


def _recipient_text(finding: Finding) -> str:
    if finding.worker is not None:
        return f"worker {finding.worker}"
    return f"the workers on {finding.node}" if finding.node else "all workers"
