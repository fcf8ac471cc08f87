"""What people and programs are told about a finding; no text of a store is trusted."""

import json
import re
from typing import Any

from sonde.actions._action import Occasion
from sonde.clock import iso

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_LONGEST = 2_000


def subject(occasion: Occasion) -> str:
    """One line that says which job, which rule and how bad."""
    finding = occasion.episode.finding
    trial = "trial: " if occasion.is_trial else ""
    return _line(f"{trial}{occasion.job}: {finding.rule} ({finding.severity.value})")


def one_line(occasion: Occasion) -> str:
    """All that matters, in one line."""
    return _line(f"{subject(occasion)}: {occasion.episode.finding.message}")


def text(occasion: Occasion) -> str:
    """A message for a person."""
    finding = occasion.episode.finding
    place = _place(occasion)
    lines = [
        f"{finding.severity.value}: {finding.rule} in job {occasion.job}",
        *([place] if place else []),
        "",
        _line(finding.message),
        *(["", f"What to do: {_line(finding.advice)}"] if finding.advice else []),
        "",
        f"Everything about it: sonde findings {occasion.backend.uri}",
    ]
    return "\n".join(_CONTROL.sub(" ", line) for line in lines)


def document(occasion: Occasion) -> dict[str, Any]:
    """A message for a program."""
    episode, finding = occasion.episode, occasion.episode.finding
    has_steps = episode.first_step is not None
    return {
        "event": "finding",
        "trial": occasion.is_trial,
        "job": occasion.job,
        "uri": occasion.backend.uri,
        "episode": episode.id,
        "rule": finding.rule,
        "severity": finding.severity.value,
        "message": finding.message,
        "advice": finding.advice,
        "step": [episode.first_step, episode.last_step] if has_steps else None,
        "time": [iso(episode.first_ns), iso(episode.last_ns)],
        "node": finding.node,
        "worker": finding.worker,
        "device": finding.device,
        "tensor": finding.tensor,
        "cause": finding.cause,
        "evidence": dict(finding.evidence),
    }


def encoded(occasion: Occasion) -> str:
    """That message as one line of JSON; what JSON has no number for is told in words."""
    return json.dumps(_finite(document(occasion)), ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return str(value)
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def _place(occasion: Occasion) -> str:
    episode, finding = occasion.episode, occasion.episode.finding
    named = (
        ("", finding.tensor),
        ("", finding.device),
        ("worker ", finding.worker),
        ("on ", finding.node),
    )
    parts = [f"{before}{one}" for before, one in named if one is not None]
    if episode.first_step is not None:
        parts.append(f"steps {episode.first_step}–{episode.last_step}")
    return ", ".join(parts)


def _line(words: str) -> str:
    return _CONTROL.sub(" ", words).strip()[:_LONGEST]
