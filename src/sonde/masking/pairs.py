"""Mask values that are not next to their names: pairs, and records with a name and a value."""

import re
from collections.abc import Callable

from sonde.masking.names import is_secret_name
from sonde.masking.notations import is_ambiguous
from sonde.masking.shapes import is_opaque

_QUOTE = r"[bru]{0,2}(?:\\{0,7}[\"'])"
_NAME = r"[A-Za-z_][\w.-]{0,80}"
_VALUE = r"(?:[^\"'\\\n]|\\[^\"'\n]){1,1000}"
# two literals in brackets, such as the name of a variable and its default
_PAIR = re.compile(
    rf"([(\[]\s{{0,20}}{_QUOTE})({_NAME})({_QUOTE}\s{{0,20}},\s{{0,20}}{_QUOTE})({_VALUE})"
    rf"(?={_QUOTE}\s{{0,20}},?\s{{0,20}}[)\]])"
)
# a name and a value in JSON, YAML or XML attributes
_SIGN = rf"(?:{_QUOTE})?\s{{0,4}}[:=]\s{{0,4}}(?:{_QUOTE})?"
_RECORD = re.compile(
    rf"(?<![A-Za-z0-9])((?:name|key|variable|field){_SIGN})({_NAME})"
    rf"((?:{_QUOTE})?[ \t]{{0,4}},?\s{{0,40}}(?:{_QUOTE})?(?:value|default|content){_SIGN})"
    r"([^\s\"'<>,;)}\]]{1,1000})",
    re.IGNORECASE,
)


def mask_pairs(text: str, mask: str) -> str:
    """Mask the second of a name and a value in brackets, and the value of a record."""
    text = _PAIR.sub(_masked(mask), text)
    # this search is much faster than the pattern
    is_record = any(word in text.lower() for word in ("value", "default", "content"))
    return _RECORD.sub(_masked(mask), text) if is_record else text


def _masked(mask: str) -> Callable[[re.Match[str]], str]:
    def masked(match: re.Match[str]) -> str:
        before, name, between, value = match.groups()
        if not is_secret_name(name) or (is_ambiguous(name) and not is_opaque(value)):
            return match[0]
        return before + name + between + mask

    return masked
