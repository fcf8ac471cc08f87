"""Find literals in the rest of an expression whose first word or literal is a secret.

In source code, and so in tracebacks, a value is often more than one literal: a default of a call, a
sum, an annotated variable, the second of two variables.
"""

import re
from collections.abc import Iterator

from sonde.masking.notations import LITERAL, is_ambiguous

_QUOTED = re.compile(LITERAL)
_OPERATOR = re.compile(r"[ \t]{0,20}(?:\+|%|or\b|and\b|if\b)")
_ANNOTATED = re.compile(r"[ \t]{0,20}=(?!=)")
_OTHER_TARGET = re.compile(r"[\w.\]]{1,80}[ \t]{0,4},[ \t]{0,4}\Z")
_LITERAL_BESIDE = re.compile(r"[ \t]{0,20}[\"']")
_BRACKETS = re.compile(r"[()\[\]{}]")
_MAX_LENGTH = 1_000
_LOGINS = ("auth", "cookie")  # often a pair or a table, unlike other ambiguous names


def other_literals(
    text: str, name: re.Match[str], value: re.Match[str]
) -> Iterator[tuple[int, int]]:
    """The literals that follow in the same expression, with their quotes.

    Args:
        text: The entire text.
        name: A secret name and the sign after it.
        value: The first word or literal of its value.
    """
    end = _end_of_expression(text, name, value)
    for literal in _QUOTED.finditer(text, value.end(), end) if end > value.end() else ():
        yield literal.span()


def _end_of_expression(text: str, name: re.Match[str], value: re.Match[str]) -> int:
    """The end of the expression that a value begins."""
    if is_ambiguous(name[1]) and name[1].lower() not in _LOGINS:
        return value.end()
    is_quoted, sign = value[0].startswith(("'", '"', "\\")), name[2]
    depth = 0 if is_quoted else sum(map(value[0].count, "([{")) - sum(map(value[0].count, ")]}"))
    if depth > 0:
        return _end_of_brackets(text, value.end(), depth)
    is_code = "=" in sign and _OPERATOR.match(text, value.end())
    is_annotated = ":" in sign and not is_quoted and _ANNOTATED.match(text, value.end())
    is_adjacent = is_quoted and "=" in sign and _LITERAL_BESIDE.match(text, value.end())
    has_other_target = (
        is_quoted
        and sign.startswith((" =", "\t="))
        and _OTHER_TARGET.search(text, max(0, name.start() - 90), name.start())
    )
    if is_code or is_annotated or is_adjacent or has_other_target:
        return _end_of_line(text, value.end())
    return value.end()


def _end_of_brackets(text: str, start: int, depth: int) -> int:
    for bracket in _BRACKETS.finditer(text, start, start + _MAX_LENGTH):
        depth += 1 if bracket[0] in "([{" else -1
        if depth == 0:
            is_continued = _OPERATOR.match(text, bracket.end()) is not None
            return _end_of_line(text, start) if is_continued else bracket.start()
    return _end_of_line(text, start)


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start, start + _MAX_LENGTH)
    return min(len(text), start + _MAX_LENGTH) if end < 0 else end
