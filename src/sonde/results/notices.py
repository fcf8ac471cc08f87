"""Notices about a recording: repeated ones take a single line."""

from collections.abc import Mapping, Sequence
from typing import Any


def latest_notices(notices: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The last notice of each kind and subject, with the number of repetitions."""
    about: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for notice in sorted(notices, key=lambda notice: str(notice["time"])):
        about.setdefault((notice["kind"], notice["what"]), []).append(notice)
    latest = [_last_of(several) for several in about.values()]
    return sorted(latest, key=lambda each: str(each["time"]))


def _last_of(several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    last = dict(several[-1])
    if len(several) > 1:
        last["text"] += f" (last of {len(several)} similar notices)"
    return last
