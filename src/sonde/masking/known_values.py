"""Mask values of this process's environment variables: secrets anywhere, and others in dumps."""

import re
from functools import lru_cache

from sonde.masking.names import is_secret_name
from sonde.masking.recorded_variables import is_recorded_variable
from sonde.masking.shapes import is_opaque
from sonde.settings import current_variables

_MIN_SECRET_LENGTH = 8
_MIN_OTHER_LENGTH = 6
_PATH_STARTS = ("/", "./", "../", "~")
_NUMBER = re.compile(r"[-+]?[\d.,_]+")
_QUOTES = "\"'\\,})];"


def mask_known_values(text: str, mask: str) -> str:
    """Mask the values of variables whose names suggest a secret, wherever they occur."""
    for value in _secret_values(len(current_variables())):
        text = text.replace(value, mask)
    return text


def is_other_variable(name: str, value: str) -> bool:
    """Whether a value is that of a variable that is not recorded: the text dumps the environment.

    Args:
        name: The name before the value.
        value: The value, perhaps in quotes.
    """
    content = value.strip(_QUOTES)
    if len(content) < _MIN_OTHER_LENGTH or _NUMBER.fullmatch(content):
        return False
    recorded = current_variables().get(name, "")
    return recorded.strip(_QUOTES).startswith(content) and not is_recorded_variable(name)


@lru_cache(1)
def _secret_values(_count: int) -> tuple[str, ...]:
    """The secrets among the variables, longest first; found again if their number changes."""
    found = {value for name, value in current_variables().items() if _is_secret(name, value)}
    return tuple(sorted(found, key=len, reverse=True))


def _is_secret(name: str, value: str) -> bool:
    """Whether a variable is a secret, and its value not a word or a path of other texts, too."""
    if len(value) < _MIN_SECRET_LENGTH or value.startswith(_PATH_STARTS):
        return False
    return is_secret_name(name) and is_opaque(value.replace("/", ""))
