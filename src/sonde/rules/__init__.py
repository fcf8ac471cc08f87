"""Questions asked of a job: one file per rule, one folder per topic."""

import re

from sonde.errors import UsageError, did_you_mean
from sonde.plugins import Slot
from sonde.rules._rule import Rule

__all__ = ["RULES", "Rule", "file_name", "load_rule", "rule_names"]

TOPICS = ("system", "steps", "tensors")
# the last one is empty: it is where other packages add theirs, by entry point
RULES = tuple(Slot(f"sonde.rules.{topic}", Rule) for topic in TOPICS)
FOREIGN = Slot("sonde.rules", Rule)

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def file_name(name: str) -> str:
    """The snake_case of a rule's name: LowGPUUtilization is low_gpu_utilization."""
    return _WORD.sub("_", name.replace("-", "_")).lower()


def rule_names() -> tuple[str, ...]:
    """All rules that are installed, by file name; nothing is imported."""
    return tuple(sorted({name for slot in (*RULES, FOREIGN) for name in slot.names()}))


def load_rule(name: str) -> type[Rule]:
    """The class of a rule, by either spelling of its name."""
    wanted = file_name(name)
    ours = [slot for slot in RULES if slot.has_file(wanted)]
    for slot in ours or [slot for slot in (*RULES, FOREIGN) if wanted in slot]:
        return slot.load(wanted)
    known = rule_names()
    raise UsageError(
        f"There is no rule {name!r}.{did_you_mean(wanted, known)} Known: {', '.join(known)}"
    )
