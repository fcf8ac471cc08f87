"""The label at the top of a program: a `LABEL = {...}` literal, read without running the program.

    LABEL = {
        "set": 7,
        "rule": "LossSpike",
        "first_step": 560,
        "side_effects": ["NOT_A_NUMBER", "WeightUpdateRatio"],
    }

A program without a fault says `"rule": None`. Names in capitals stand for the groups of rules in
`GROUPS`.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

Parameters = Mapping[str, Mapping[str, object]]

_START = "\nLABEL = "
_END = "\n\n"  # the literal holds no blank line

GROUPS = {
    "DOES_NOT_LEARN": ("LossNotDecreasing", "Overtraining", "PoorWeightInitialization"),
    "NOT_A_NUMBER": ("ExplodingTensor", "LossDiverging", "LossSpike", "GradientNormSpike"),
    "STARTS_BADLY": (
        *("PoorWeightInitialization", "LossSpike", "GradientNormSpike", "LossDiverging"),
    ),
}


class NamedSet(StrEnum):
    """The sets of programs that have a name instead of a number."""

    CALIBRATION = "calibration"  # written to set thresholds on
    HELD_OUT = "held out"  # to be judged once, before any rule author has seen it


class LabelError(Exception):
    """A program has no valid label."""


@dataclass(frozen=True)
class Label:
    """What is wrong in a program, which rule should report it, and how the program is run."""

    set: int | NamedSet  # numbers: formerly held out, judged in this order
    rule: str | None  # the rule that should report the fault; None: no fault
    culprit: str = ""  # text that the finding has to contain
    first_step: int = 0  # at which the fault is visible
    max_delay_steps: int | None = None  # for faults that are certain once they are visible
    alternatives: tuple[str, ...] = ()  # rules that are as correct as `rule`
    side_effects: tuple[str, ...] = ()  # rules that may report effects of the fault
    exit_code: int = 0  # of the faulty variant
    workers: int = 1
    parameters: Parameters = field(default_factory=dict, hash=False)  # of rules, where not default
    compared_by: str = ""  # a rule that compares the run with one of another seed
    disk_mib: int = 0  # size of the disk the program runs on; 0: any disk
    competing_processes: int = 0  # to keep cores busy during the faulty variant


def split_label(source: str) -> tuple[str, str]:
    """Split a program into the text of its label and the rest."""
    before, start, text = source.partition(_START)
    literal, _, after = text.partition(_END)
    if not start:
        raise LabelError("no LABEL = {...} at the top of the program")
    return literal, f"{before}\n{after}"


def read_label(source: str) -> Label:
    """Parse the label of a program; raise `LabelError` if it is invalid."""
    literal, _ = split_label(source)
    try:
        fields = ast.literal_eval(literal)
        unknown = set(fields) - set(Label.__dataclass_fields__)
        if unknown:
            raise LabelError(f"unknown fields: {', '.join(sorted(unknown))}")
        for name in ("alternatives", "side_effects"):
            fields[name] = expanded(fields.get(name, ()))
        return msgspec.convert(fields, Label)
    except (ValueError, SyntaxError, msgspec.ValidationError) as error:
        raise LabelError(str(error)) from error


def expanded(names: Sequence[str]) -> tuple[str, ...]:
    """Replace names of groups by the rules in them."""
    return tuple(rule for name in names for rule in GROUPS.get(name, (name,)))
