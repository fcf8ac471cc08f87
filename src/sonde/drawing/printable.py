"""Escaping of text for terminals and JSON, and errors of output."""

import contextlib
import math
import re
from collections.abc import Iterator
from typing import Any

from sonde.errors import OutputError

# C0 and C1 control characters, line separators, bidirectional controls and lone surrogates: text
# from the store must not send them to a terminal
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_COLOR = re.compile("\x1b\\[[0-9;:]*m")  # terminal colors
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape_text(text: str) -> str:
    """The text on one line, without colors and with escaped control characters."""
    return _CONTROL.sub(lambda match: escape_character(match[0]), _COLOR.sub("", text))


def readable_pieces(text: str) -> list[str]:
    """Each character as it is shown: itself, its escape, or nothing if it is part of a color."""
    pieces = [escape_character(character) for character in text]
    for color in _COLOR.finditer(text):
        pieces[color.start() : color.end()] = [""] * (color.end() - color.start())
    return pieces


def is_visible(text: str) -> bool:
    """Whether the text has no control characters."""
    return _CONTROL.search(text) is None


def escape_character(character: str) -> str:
    """A character or its escape sequence."""
    if is_visible(character):
        return character
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def safe_json(text: str) -> str:
    """An equivalent JSON document without raw control characters."""
    return re.sub(
        "[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]",
        lambda match: f"\\u{ord(match[0]):04x}",
        text,
    )


def replace_non_finite(value: Any) -> Any:
    """Replace NaN and infinite numbers by null, for JSON."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: replace_non_finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [replace_non_finite(each) for each in value]
    return value


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Turn errors of writing to standard output into `OutputError`, except a broken pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OutputError(f"Cannot write the output: {reason}") from error
