"""Texts in rows that are recorded: names, subjects, details; most of them come again and again."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sonde.masking.text import mask_text

_MOST_REMEMBERED = 4_096
_SHORT = 6  # no secret is shorter, and most names of modes and kinds are
_LONG = 2_000


def mask_texts(texts: Sequence[str]) -> list[str]:
    """A column of texts, secrets masked; a text that is a JSON document stays one."""
    return [_mask(text) for text in texts]


def mask_name(text: str) -> str:
    """A short text that comes again and again, like the name of a module."""
    return text if len(text) < _SHORT else _mask_plain(text)


def _mask(text: str) -> str:
    if text.startswith(("{", "[")):
        try:
            document = json.loads(text)
            masked = _masked(document)
            return text if masked == document else json.dumps(masked)
        except (ValueError, RecursionError):  # no document, or one that is nested without end
            return mask_text(text)
    return mask_name(text)


def _mask_plain(text: str) -> str:
    return mask_text(text) if len(text) > _LONG else _remembered(text)


@lru_cache(_MOST_REMEMBERED)
def _remembered(text: str) -> str:
    return mask_text(text)


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return mask_name(value)
    if isinstance(value, dict):
        return {_masked(name): _masked(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_masked(item) for item in value]
    return value
