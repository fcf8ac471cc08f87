"""Notices about a recording, for people: what has changed many times takes one line."""

from collections.abc import Mapping, Sequence
from typing import Any


def latest_notices(notices: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The last notice about each thing, which says how many came before it."""
    about: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in sorted(notices, key=lambda one: str(one["time"])):
        about.setdefault((one["kind"], one["what"]), []).append(one)
    latest = [_last_of(several) for several in about.values()]
    return sorted(latest, key=lambda one: str(one["time"]))


def _last_of(several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    last = dict(several[-1])
    if len(several) > 1:
        last["text"] += f" (the last of {len(several)} such notes)"
    return last
