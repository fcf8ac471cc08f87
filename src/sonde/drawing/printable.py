"""What may go to a terminal, and what happens when the output cannot be written."""

import contextlib
import math
import re
from collections.abc import Iterator
from typing import Any

from sonde.errors import OutputError

# C0 and C1 control characters, line separators, marks that turn the direction of writing, and
# bytes of no encoding: none of them may reach a terminal raw, whoever wrote them into the store
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_COLOR = re.compile("\x1b\\[[0-9;:]*m")  # of a terminal: it says nothing where it is only text
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """The text in one line without colors, and with its control characters written out."""
    return _CONTROL.sub(lambda match: written_out(match[0]), _COLOR.sub("", text))


def readable_pieces(text: str) -> list[str]:
    """Each character as it may be shown: itself, its escape, or nothing where it makes a color."""
    pieces = [written_out(character) for character in text]
    for color in _COLOR.finditer(text):
        pieces[color.start() : color.end()] = [""] * (color.end() - color.start())
    return pieces


def is_visible(text: str) -> bool:
    """Whether there is nothing to write out."""
    return _CONTROL.search(text) is None


def written_out(character: str) -> str:
    """A character as a person can read it: itself, or its escape."""
    if is_visible(character):
        return character
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def safe_json(text: str) -> str:
    """A JSON document whose strings hold no raw control characters; it means the same."""
    return re.sub(
        "[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]",
        lambda match: f"\\u{ord(match[0]):04x}",
        text,
    )


def writable(value: Any) -> Any:
    """Plain values as JSON can write them: a number that is none becomes null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: writable(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [writable(one) for one in value]
    return value


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Around writes to standard output: a full disk is one line; a reader that left is not ours."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OutputError(f"Cannot write the output: {reason}") from error
