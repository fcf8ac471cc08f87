"""Mask secrets in statements of SQL, shells and `.netrc` files, and keys after `login`."""

import re

from sonde.masking.names import is_secret_name

_LOGIN_KEY = re.compile(r"(\blogin(?:[ \t]+--?[\w-]+){0,5}[ \t]+)(?=\S{0,80}\d)([\w.-]{20,})")
_NETRC = re.compile(r"(\blogin\s{1,20}\S{1,200}\s{1,20}password\s{1,20})(\S+)")
_SQL = re.compile(
    r"(\b(?:IDENTIFIED(?: WITH \S{1,80})? BY"
    r"|(?:WITH|SET)(?: ENCRYPTED)? PASSWORD(?: FOR \S{1,80})?)"
    r"\s{0,4}=?\s{0,4}(?:PASSWORD\s{0,4}\()?\s{0,4})('(?:[^'\n]|''){0,1000}')",
    re.IGNORECASE,
)
_SET_VARIABLE = re.compile(r"(\b(?:setenv|putenv)[ \t]{1,20})([A-Za-z_]\w{0,80})([ \t]{1,20})(\S+)")


def mask_statements(text: str, mask: str) -> str:
    """Mask secrets that follow a keyword: `IDENTIFIED BY '***'`, `setenv TOKEN ***`."""
    # the searches for words are much faster than the patterns
    if "login" in text:
        text = _NETRC.sub(rf"\1{mask}", _LOGIN_KEY.sub(rf"\1{mask}", text))
    if "'" in text and any(word in text.lower() for word in ("identified", "password")):
        text = _SQL.sub(rf"\1{mask}", text)
    if "tenv" in text:
        text = _SET_VARIABLE.sub(lambda match: _mask_variable(match, mask), text)
    return text


def _mask_variable(match: re.Match[str], mask: str) -> str:
    command, name, space, _ = match.groups()
    return f"{command}{name}{space}{mask}" if is_secret_name(name) else match[0]
