"""Rules that check a job: one file per rule, one folder per topic."""

import re
from functools import partial

from sonde.errors import UsageError, known_names
from sonde.guard import Guard
from sonde.plugins import Slot
from sonde.rules._broken import broken_rule
from sonde.rules._replaced import REPLACED
from sonde.rules._rule import Rule

__all__ = ["RULES", "Rule", "file_name", "load_rule", "rule_names"]

TOPICS = ("system", "steps", "tensors", "speed", "trees")
RULES = tuple(Slot(f"sonde.rules.{topic}", Rule) for topic in TOPICS)
FOREIGN = Slot("sonde.rules", Rule)  # entry points of other packages

_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def file_name(name: str) -> str:
    """Return a rule's name in snake_case: LowGPUUtilization is low_gpu_utilization."""
    return _WORD.sub("_", name.replace("-", "_")).lower()


def rule_names() -> tuple[str, ...]:
    """Return the file names of all installed rules, without importing them."""
    return tuple(sorted({name for slot in (*RULES, FOREIGN) for name in slot.names()}))


def load_rule(name: str) -> type[Rule]:
    """Return a rule class by either spelling of its name.

    If the rule cannot be imported, return a placeholder that reports the error.
    """
    file = file_name(name)
    built_in = [slot for slot in RULES if slot.has_file(file)]
    for slot in built_in or [slot for slot in (*RULES, FOREIGN) if file in slot]:
        return _load(slot, file)
    if file in REPLACED:
        raise UsageError(f"{_camel_case(file)} is not a rule: {REPLACED[file]}.")
    names = [_class_name(slot, each) for slot in (*RULES, FOREIGN) for each in slot.names()]
    unknown = _camel_case(file)
    raise UsageError(f"No rule is named {unknown!r}.{known_names(unknown, names)}")


def _load(slot: Slot[Rule], name: str) -> type[Rule]:
    errors: list[BaseException] = []
    guard = Guard(lambda _, error: errors.append(error))
    kind = guard.call(f"importing rule {name}", partial(slot.load, name), None)
    return broken_rule(_class_name(slot, name), errors[0]) if kind is None else kind


def _class_name(slot: Slot[Rule], name: str) -> str:
    """Return the name of the class in a rule's file, without importing it."""
    file = slot.file_of(name)
    text = "" if file is None else file.read_text(encoding="utf-8", errors="replace")
    matches = [match for match in _CLASS.findall(text) if file_name(match) == name]
    return matches[0] if matches else _camel_case(name)


def _camel_case(name: str) -> str:
    return "".join(map(str.capitalize, name.split("_")))
