"""Labels are parsed from the source of a program; invalid ones are rejected."""

import pytest

from tests.faults.label import Label, LabelError, NamedSet, read_label, split_label

PROGRAM = '''"""Trains something."""

LABEL = {
    "set": 7,
    "rule": "LossSpike",
    "first_step": 40,  # the broken batch
    "side_effects": ["NOT_A_NUMBER", "Overfit"],
}

import torch

print(torch.ones(1))
'''


def test_a_label_is_read_without_running_the_program() -> None:
    assert read_label(PROGRAM) == Label(
        7,
        "LossSpike",
        first_step=40,
        side_effects=(
            *("ExplodingTensor", "LossDiverging", "LossSpike", "GradientNormSpike"),
            "Overfit",
        ),
    )


def test_a_program_without_a_fault_has_no_rule() -> None:
    label = read_label('"""Fine."""\n\nLABEL = {"set": "held out", "rule": None}\n\nimport sys\n')
    assert label == Label(NamedSet.HELD_OUT, None)


def test_a_program_can_be_separated_from_its_label() -> None:
    _, script = split_label(PROGRAM)
    assert script == '"""Trains something."""\n\nimport torch\n\nprint(torch.ones(1))\n'


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("LABEL = ", "LABELS = ", "no LABEL"),
        ('"first_step"', '"firststep"', "unknown fields: firststep"),
        ("40", '"forty"', r"int.*first_step"),
        ('"set": 7,', '"set": "eighth",', "eighth"),
        ('"rule": "LossSpike",', "", "rule"),
        ("40", "torch.ones(1)", "malformed"),
    ],
)
def test_a_wrong_label_is_refused_with_a_reason(old: str, new: str, reason: str) -> None:
    with pytest.raises(LabelError, match=reason):
        read_label(PROGRAM.replace(old, new))
