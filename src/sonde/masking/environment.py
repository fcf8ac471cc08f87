"""Mask environment variables: record values from an allowlist, and only the names of others."""

import re
from collections.abc import Mapping

from sonde.masking.names import is_secret_name
from sonde.masking.recorded_variables import is_recorded_variable
from sonde.masking.text import MASK, mask_text, readable

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,99}")
_WORKING_FOLDER = "PWD"  # the name means a password only as an option
_MAX_VALUE_LENGTH = 8192


def mask_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return all variables by name, with values only for those on the allowlist.

    Secrets in these values are masked, too. Unusual names are omitted: they may be secrets.
    """
    return {
        name: _mask_value(name, value)
        for name, value in sorted(variables.items())
        if _NAME.fullmatch(name) and mask_text(name) == name
    }


def _mask_value(name: str, value: str) -> str:
    if not value:
        return ""
    if not is_recorded_variable(name) or (name != _WORKING_FOLDER and is_secret_name(name)):
        return MASK
    return mask_text(readable(value)[:_MAX_VALUE_LENGTH])
