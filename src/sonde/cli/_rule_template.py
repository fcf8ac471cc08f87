"""The files that `sonde rules new` writes: a rule to edit, and its test."""

import re
from pathlib import Path

from sonde.errors import UsageError
from sonde.rules import file_name, rule_names

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

_RULE = '''"""{name}: one line that says what it detects."""

import sonde


class {name}(sonde.Rule):
    """The loss exceeds a limit. (One sentence: what the rule detects.)

    Why it matters: The cost of not noticing it.
    How it decides:
    - A loss is above `limit`.
    What to do: The first thing to try.
    """

    limit: float = 10.0  # fields are parameters: sonde.toml, or --set {name}.limit=5

    needs = (sonde.Losses(),)  # what the rule reads; enabling the rule enables its recording
    window_steps = 20  # training steps per call of check()

    def check(self, window, state):
        for curve in window.losses():
            for step, value in curve:
                # state persists across windows and restarts
                state["maximum"] = max(value, state.get("maximum", value))
                if value > self.limit:
                    yield self.finding(
                        f"The loss is {{value:.3g}} at step {{step}}.",
                        severity=sonde.Severity.WARNING,
                        step=step,
                        subject=curve.name,
                        evidence={{"loss": value, "limit": self.limit}},
                    )
'''

_TEST = '''"""{name}: a job with the fault and one without it."""

import sonde
from {file} import {name}


def job_with_losses(store, name, losses):
    """Record a small job with these losses."""
    sonde.start(name=name, store=str(store))
    for loss in losses:
        sonde.log(loss=loss)
        sonde.step()
    sonde.stop()
    return sonde.open_job(store / name)


def test_loss_above_the_limit_is_reported(tmp_path):
    job = job_with_losses(tmp_path, "faulty", [1.0] * 30 + [50.0] + [1.0] * 30)
    [finding] = job.check({name}).findings
    assert finding.first_step == 30


def test_normal_loss_is_not_reported(tmp_path):
    job = job_with_losses(tmp_path, "healthy", [1.0] * 60)
    assert not len(job.check({name}).findings)
'''


def write_template(name: str, folder: Path) -> tuple[Path, Path]:
    """Write a rule and its test into a folder; existing files are not overwritten."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a valid rule name. Use a name like GradientTooLarge.")
    file = file_name(name)
    if file in rule_names():
        raise UsageError(f"Rule {name} already exists. See: sonde rules {name}")
    camel = name if name != file else "".join(word.capitalize() for word in name.split("_"))
    files = {
        folder / f"{file}.py": _RULE,
        folder / f"test_{file}.py": _TEST,
    }
    for path in files:
        if path.exists():
            raise UsageError(f"{path} already exists. Choose another name, or remove the file.")
    for path, text in files.items():
        path.write_text(text.format(name=camel, file=file), encoding="utf-8")
    rule, test = files
    return rule, test
