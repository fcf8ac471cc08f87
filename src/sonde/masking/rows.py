"""Mask texts of recorded rows: names, subjects and details. Most of them repeat, so cache them."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sonde.masking.text import mask_text

_CACHE_SIZE = 4_096
_MIN_SECRET_LENGTH = 6  # most names of modes and kinds are shorter
_MAX_CACHED_LENGTH = 2_000


def mask_texts(texts: Sequence[str]) -> list[str]:
    """Mask secrets in a column of texts; JSON documents remain valid JSON."""
    masked_by_text = {text: _mask(text) for text in set(texts)}  # most columns repeat few texts
    return [masked_by_text[text] for text in texts]


def mask_name(text: str) -> str:
    """Mask secrets in a short text that repeats, such as the name of a module."""
    return text if len(text) < _MIN_SECRET_LENGTH else _mask_plain(text)


def _mask(text: str) -> str:
    if text.startswith(("{", "[")):
        try:
            document = json.loads(text)
            masked = _mask_document(document)
            return text if masked == document else json.dumps(masked)
        except (ValueError, RecursionError):  # not JSON, or nested too deeply
            return mask_text(text)
    return mask_name(text)


def _mask_plain(text: str) -> str:
    return mask_text(text) if len(text) > _MAX_CACHED_LENGTH else _mask_cached(text)


@lru_cache(_CACHE_SIZE)
def _mask_cached(text: str) -> str:
    return mask_text(text)


def _mask_document(value: Any) -> Any:
    if isinstance(value, str):
        return mask_name(value)
    if isinstance(value, dict):
        return {_mask_document(name): _mask_document(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_mask_document(item) for item in value]
    return value
