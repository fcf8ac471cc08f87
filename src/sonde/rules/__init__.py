"""Rules that check a job: one file per rule, one folder per topic."""

import re
from functools import partial

from sonde.errors import UsageError, known_names
from sonde.guard import Guard
from sonde.plugins import Slot
from sonde.rules._broken import broken_rule
from sonde.rules._rule import Rule

__all__ = ["RULES", "Rule", "file_name", "load_rule", "rule_names"]

TOPICS = ("system", "steps", "tensors")
# the last one is empty: it is where other packages add theirs, by entry point
RULES = tuple(Slot(f"sonde.rules.{topic}", Rule) for topic in TOPICS)
FOREIGN = Slot("sonde.rules", Rule)

_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def file_name(name: str) -> str:
    """The snake_case of a rule's name: LowGPUUtilization is low_gpu_utilization."""
    return _WORD.sub("_", name.replace("-", "_")).lower()


def rule_names() -> tuple[str, ...]:
    """All rules that are installed, by file name; nothing is imported."""
    return tuple(sorted({name for slot in (*RULES, FOREIGN) for name in slot.names()}))


def load_rule(name: str) -> type[Rule]:
    """The class of a rule, by either spelling of its name; of one that is broken, a stand-in."""
    wanted_file = file_name(name)
    ours = [slot for slot in RULES if slot.has_file(wanted_file)]
    for slot in ours or [slot for slot in (*RULES, FOREIGN) if wanted_file in slot]:
        return _loaded(slot, wanted_file)
    raise UsageError(f"No rule is named {name!r}.{known_names(wanted_file, rule_names())}")


def _loaded(slot: Slot[Rule], name: str) -> type[Rule]:
    errors: list[BaseException] = []
    guard = Guard(lambda _, error: errors.append(error))
    kind = guard.call(f"importing rule {name}", partial(slot.load, name), None)
    return broken_rule(_class_name(slot, name), errors[0]) if kind is None else kind


def _class_name(slot: Slot[Rule], name: str) -> str:
    """What the class in a rule's file is called, without importing it."""
    file = slot.file_of(name)
    text = "" if file is None else file.read_text(encoding="utf-8", errors="replace")
    called = [item for item in _CLASS.findall(text) if file_name(item) == name]
    return called[0] if called else "".join(map(str.capitalize, name.split("_")))
