"""The files that `sonde rules new` writes: a rule to change, and a test that shows it at work."""

import re
from pathlib import Path

from sonde.errors import UsageError
from sonde.rules import file_name, rule_names

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

_RULE = '''"""{name}: say in a line what it finds."""

import sonde


class {name}(sonde.Rule):
    """The loss is larger than it may be. (The question, in a sentence.)

    Why it matters: What it costs if it goes unnoticed.
    How it decides:
    - A loss is above `limit`.
    What to do: The first thing to try.
    """

    limit: float = 10.0  # fields are parameters, for sonde.toml and for --set {name}.limit=5

    needs = (sonde.Losses(),)  # what has to be recorded; turning on the rule turns that on
    window_steps = 20  # so many training steps are shown at a time

    def check(self, window, state):
        for curve in window.losses():
            for step, value in curve:
                # what is kept here is there again at the next window, and after a restart
                state["most"] = max(value, state.get("most", value))
                if value > self.limit:
                    yield self.finding(
                        f"The loss is {{value:.3g}} at step {{step}}.",
                        severity=sonde.Severity.WARNING,
                        step=step,
                        subject=curve.name,
                        evidence={{"loss": value, "limit": self.limit}},
                    )
'''

_TEST = '''"""{name}: a planted fault and its healthy twin."""

import sonde
from {file} import {name}


def job_with_losses(store, name, losses):
    """A small job that records these."""
    sonde.start(name=name, store=str(store))
    for loss in losses:
        sonde.log(loss=loss)
        sonde.step()
    sonde.stop()
    return sonde.open_job(store / name)


def test_a_loss_beyond_the_limit_is_found(tmp_path):
    job = job_with_losses(tmp_path, "faulty", [1.0] * 30 + [50.0] + [1.0] * 30)
    [finding] = job.check({name}).findings
    assert finding.first_step == 30


def test_a_usual_loss_is_none(tmp_path):
    job = job_with_losses(tmp_path, "healthy", [1.0] * 60)
    assert not len(job.check({name}).findings)
'''


def write_template(name: str, folder: Path) -> tuple[Path, Path]:
    """Writes a rule and its test into a folder, where neither is yet."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name for a rule. Use one like GradientTooLarge.")
    file = file_name(name)
    if file in rule_names():
        raise UsageError(f"There is a rule {name} already: sonde rules {name}")
    camel = name if name != file else "".join(part.capitalize() for part in name.split("_"))
    files = {
        folder / f"{file}.py": _RULE,
        folder / f"test_{file}.py": _TEST,
    }
    for path in files:
        if path.exists():
            raise UsageError(f"{path} exists. Choose another name, or remove it first.")
    for path, text in files.items():
        path.write_text(text.format(name=camel, file=file), encoding="utf-8")
    rule, test = files
    return rule, test
