"""Messages about a finding, for people and programs; texts from the store are not trusted."""

import json
import re
from typing import Any

from sonde.actions._action import Occasion
from sonde.clock import iso

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_MAX_LENGTH = 2_000


def subject(occasion: Occasion) -> str:
    """One line with the job, the rule and the severity."""
    finding = occasion.episode.finding
    trial = "test: " if occasion.is_trial else ""
    return _line(f"{trial}{occasion.job}: {finding.rule} ({finding.severity.value})")


def one_line(occasion: Occasion) -> str:
    """The finding in one line."""
    return _line(f"{subject(occasion)}: {occasion.episode.finding.message}")


def text(occasion: Occasion) -> str:
    """The finding as a message for a person."""
    finding = occasion.episode.finding
    location = _location(occasion)
    lines = [
        f"{finding.severity.value}: {finding.rule} in job {occasion.job}",
        *([location] if location else []),
        "",
        _line(finding.message),
        *(["", f"What to do: {_line(finding.advice)}"] if finding.advice else []),
        "",
        f"Details: sonde findings {occasion.backend.uri}",
    ]
    return "\n".join(_CONTROL.sub(" ", line) for line in lines)


def document(occasion: Occasion) -> dict[str, Any]:
    """The finding as a document for a program."""
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
    """The document as one line of JSON; NaN and infinity become strings."""
    return json.dumps(_finite(document(occasion)), ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return str(value)
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _location(occasion: Occasion) -> str:
    episode, finding = occasion.episode, occasion.episode.finding
    named = (
        ("", finding.tensor),
        ("", finding.device),
        ("worker ", finding.worker),
        ("on ", finding.node),
    )
    fields = [f"{prefix}{value}" for prefix, value in named if value is not None]
    if episode.first_step is not None:
        fields.append(f"steps {episode.first_step}–{episode.last_step}")
    return ", ".join(fields)


def _line(text: str) -> str:
    return _CONTROL.sub(" ", text).strip()[:_MAX_LENGTH]
