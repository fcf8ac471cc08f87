"""Findings for actions, and actions as a configuration file defines them."""

import tomllib
from pathlib import Path
from typing import Any

from sonde.actions import Action, Occasion, build_action
from sonde.records.finding import Episode, Finding, Severity
from sonde.settings.actions import read_actions
from tests.fakes.job import FakeJob


def episode(
    rule: str = "LossSpike",
    severity: Severity = Severity.CRITICAL,
    number: int = 1,
    at_ns: int = 0,
    is_open: bool = True,
    **about: Any,
) -> Episode:
    """Return an open episode of a rule."""
    texts = {"message": "The loss jumped to 17.", "advice": "Lower the learning rate.", **about}
    finding = Finding(rule, severity, evidence={"loss": 17.0}, **texts)
    id_ = f"{rule}:{finding.about}:{number}"
    return Episode(id_, finding, at_ns, at_ns, 1, is_open, first_step=210, last_step=240)


def occasion(job: FakeJob | None = None, **about: Any) -> Occasion:
    """Return an occasion with a finding of a job."""
    job = job or FakeJob()
    about.setdefault("at_ns", job.clock.now_ns())
    return Occasion("resnet", episode(**about), job.backend, job.clock)


def action(folder: Path, settings: str, name: str = "it") -> Action:
    """Return the action that a configuration file in the folder defines."""
    table = {name: tomllib.loads(settings)}
    (definition,) = read_actions(table, folder / "sonde.toml").actions
    return build_action(definition, folder)
