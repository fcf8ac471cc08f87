"""Mask secrets in notations other than assignments: XML elements, setter calls, YAML blocks."""

import re

from sonde.masking.names import is_secret_name
from sonde.masking.shapes import is_opaque

_ELEMENT = re.compile(
    r"(<(?:\w{1,40}:)?([\w.-]{1,80})(?:\s[^<>]{0,200})?>)"
    r"(\s*)([^<\s][^<]*|<!\[CDATA\[[^\]]{0,1000}\]\]>\s*)(?=</(?:\w{1,40}:)?\2\s*>)"
)
LITERAL = (
    r"\"(?:[^\"\\\n]|\\.){0,1000}\"|'(?:[^'\\\n]|\\.){0,1000}'"
    r"|\\{1,7}\"[^\"\n]{0,1000}\"|\\{1,7}'[^'\n]{0,1000}'"
)
_SETTER = re.compile(
    r"(?<![A-Za-z0-9])((?:set|with|update|change|reset)_?([A-Za-z]\w{0,80})\()"
    rf"((?:[^()\"'\\\n]|{LITERAL}){{0,200}})",
    re.IGNORECASE,
)
_QUOTED = re.compile(LITERAL)
_QUOTES = re.compile(r"\\{0,7}[\"']")
_LINE_END = r"(?:\n|\\n)"  # a line break, or its escape sequence in a string literal
_BLOCK_START = re.compile(rf"[|>][-+0-9]{{0,2}}[ \t]*{_LINE_END}")
_BLOCK_LINE = re.compile(rf"([ \t]*)((?:(?!\\n)[^\n])*)({_LINE_END}|\Z)")
_INDENTATION = re.compile(r"[ \t]*(?:- +)*")
# names with other meanings: a token of a text, a key of a property list
_AMBIGUOUS = frozenset(("key", "token", "session", "signature", "auth", "cookie"))


def is_ambiguous(name: str) -> bool:
    """Whether a name often means something else, so that its value must be examined, too."""
    return name.lower().lstrip("_") in _AMBIGUOUS


def mask_elements(text: str, mask: str) -> str:
    """Mask XML elements with secret names: `<password>***</password>`."""

    def masked(match: re.Match[str]) -> str:
        return f"{match[1]}{match[3]}{mask}" if _is_secret(match[2], match[4]) else match[0]

    return _ELEMENT.sub(masked, text)


def mask_setters(text: str, mask: str) -> str:
    """Mask literal arguments of calls that set a secret: `setPassword("***")`."""

    def masked(match: re.Match[str]) -> str:
        def masked_literal(literal: re.Match[str]) -> str:
            quote = _QUOTES.match(literal[0])
            is_secret = quote is not None and _is_secret(match[2], literal[0])
            return f"{quote[0]}{mask}{quote[0]}" if quote and is_secret else literal[0]

        return match[1] + _QUOTED.sub(masked_literal, match[3])

    return _SETTER.sub(masked, text)


def block_end(text: str, name_start: int, value_start: int) -> int | None:
    """Return the end of a YAML block that is the value of a name; None if it has no block.

    Args:
        text: The entire text.
        name_start: The start of the name; the block is indented more deeply.
        value_start: The start of the value.
    """
    start = _BLOCK_START.match(text, value_start)
    if start is None:
        return None
    before = text[:name_start].rpartition("\n")[2].rpartition("\\n")[2]
    indentation = _INDENTATION.match(before)
    depth = len(indentation[0]) if indentation else 0
    position, end = start.end(), None
    while position < len(text):
        line = _BLOCK_LINE.match(text, position)
        if line is None or (line[2] and len(line[1]) <= depth):
            break
        if line[2]:
            end = line.end(2)
        position = line.end()
    return end


def _is_secret(name: str, value: str) -> bool:
    if is_ambiguous(name):
        return is_opaque(value)
    return is_secret_name(name)
