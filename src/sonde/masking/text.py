"""Mask secrets in any text; every recorded text passes `mask_text`."""

import re

from sonde.masking.expressions import other_literals
from sonde.masking.known_values import is_other_variable, mask_known_values
from sonde.masking.names import is_perhaps_secret_name, is_secret_name
from sonde.masking.notations import block_end, is_ambiguous, mask_elements, mask_setters
from sonde.masking.pairs import mask_pairs
from sonde.masking.programs import (
    is_attached_password,
    is_program_password,
    mask_program_passwords,
    password_option,
)
from sonde.masking.shapes import is_opaque, mask_private_keys, mask_shapes
from sonde.masking.statements import mask_statements

MASK = "***"

_LONE_SURROGATES = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # the others are escaped bytes

_URL_PASSWORD = re.compile(r"(?<=://)([^/\s:@]*):([^/\s]+)(?=@)")
_URL_TOKEN = re.compile(r"(?<=://)[^/\s:@]{16,}(?=@)")
# the URL of a webhook is all that is needed to post to it
_WEBHOOK = re.compile(
    r"((?:https?://[^\s\"'<>]{0,500}?/(?:webhooks?|webhookb2|services(?=/T[A-Z0-9]{6,}/))"
    r"|hooks\.slack\.com/\w+|hooks\.zapier\.com/hooks/\w+|hc-ping\.com|discord(?:app)?\.com/api/webhooks|office\.com/webhook(?:b2)?)/)"
    r"[^\s\"'<>;|)]+"
)
# curl -u user:password
LOGIN_OPTIONS = ("-u", "-U", "--user", "--proxy-user")
_LOGIN_OPTION = re.compile(
    r"(?<![\w-])(-[uU][ =]?|--(?:proxy-)?user[ =])(\"[^\"]*\"|'[^']*'|[^\s\"']+)"
)
_LOGIN = re.compile(r"([\"']?[^\s:/=]*):(?!//)(.+?)([\"']?)", re.DOTALL)
_USER_AND_GROUP = re.compile(r"[\"']?\d+:\d+[\"']?")
# NAME=value, "name": "value", Name: value, name => value
# Quotes may be escaped: JSON inside a string, or a line of source code.
_ASSIGNED_NAME = re.compile(  # not a::b
    r"(?<![\w.-])([\w.-]+)((?:\\{0,7}[\"'])?\]?(?:\s{0,20}=>|\s?(?!::)(?:!?[=:]{1,2}|%3[ADad]))\s*)"
)
_ASSIGNED_VALUE = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\\{1,7}\"[^\"]*\"|\\{1,7}'[^']*'"
    r"|(?:bearer |basic |token )?[^&;,\s]+",
    re.IGNORECASE | re.DOTALL,
)
_OPENING_QUOTE = re.compile(r"\\{0,7}[\"']")
_CLOSING_QUOTE = re.compile(r"(?<!\\)\\{0,7}[\"'][\"')\]}>.:]{0,20}\Z")
_VALUE_START = re.compile(
    r"\"(?:[^\"\\]|\\.){0,1000}\"|'(?:[^'\\]|\\.){0,1000}'"
    r"|\\{1,7}\"[^\"]{0,1000}\"|\\{1,7}'[^']{0,1000}'"
    r"|(?:bearer |basic |token )?[^&;,\s]{1,1000}",
    re.IGNORECASE | re.DOTALL,
)
_PLAIN_VALUE = re.compile(r"(?:[-+]?\d[\d._]*(?:e[-+]?\d+)?|true|false|none|null)[)\]}.]*", re.I)
# --password value, -p value, -pvalue
_OPTION_VALUE = re.compile(
    r"(?<![\w-])(--?[A-Za-z][\w.-]{0,80})([ \t]+)(\"[^\"]*\"|'[^']*'|[^\s\"',;|&)\]]+)"
)
_GLUED_OPTION = re.compile(r"(?<![\w-])-p(?=\S)([^\s\"',;|&)\]]+)")
_LOGIN_COMMAND = "login"  # wandb login KEY
_LOGIN_KEY = re.compile(r"(?=\D*\d)[\w.-]{20,}")
_PROSE = frozenset(
    (
        *("is", "are", "was", "were", "must", "to", "or", "and", "needs", "requires", "required"),
        *("cannot", "can", "not", "expected", "missing", "should", "for", "in", "with", "has"),
        *("need", "option", "flag", "takes", "given"),
    )
)
# ['mysql', '-p', '…']: a command as a Python list
_STRING = r"(?:'(?:[^'\\\n]|\\.){0,200}'|\"(?:[^\"\\\n]|\\.){0,200}\")"
_WORDS = re.compile(rf"{_STRING}(?:\s*,\s*{_STRING})+")
_WORD = re.compile(_STRING)


def mask_text(text: str) -> str:
    """Mask secrets that can be recognized by their format or by a name."""
    text = mask_known_values(mask_private_keys(readable(text), MASK), MASK)
    text = _URL_PASSWORD.sub(rf"\1:{MASK}", text)
    text = _URL_TOKEN.sub(MASK, text)
    text = _WEBHOOK.sub(rf"\1{MASK}", text)
    text = _WORDS.sub(_mask_words, text)
    text = _LOGIN_OPTION.sub(lambda match: match[1] + mask_login(match[2]), text)
    text = mask_program_passwords(text, MASK)
    text = _OPTION_VALUE.sub(_mask_option_value, text)
    text = _GLUED_OPTION.sub(lambda match: mask_attached(match[0]), text)
    text = mask_statements(text, MASK)
    text = mask_elements(text, MASK)
    text = mask_setters(text, MASK)
    text = mask_pairs(text, MASK)
    text = _mask_assigned(text)
    return mask_shapes(text, MASK)


def readable(text: str) -> str:
    """Replace bytes that are not valid text, so that everything recorded can be printed."""
    text = _LONE_SURROGATES.sub("\ufffd", text)
    return text.encode(errors="surrogateescape").decode(errors="replace")


def mask_login(text: str) -> str:
    """Mask the password in `user:password`; numeric user and group IDs are kept."""
    match = _LOGIN.fullmatch(text)
    if match is None or _USER_AND_GROUP.fullmatch(text):
        return text
    return f"{match[1]}:{MASK}{match[3]}"


def mask_attached(word: str) -> str:
    """Mask the secret in `-psecret`; `-pthread` and `-p8080` are kept."""
    return f"-p{MASK}" if word.startswith("-p") and is_opaque(word[2:]) else word


def is_secret_option(name: str, value: str, password_option: str = "") -> bool:
    """Whether the value of an option is a secret."""
    if name == password_option:
        return is_program_password(name, value, password_option)
    if name == "-p":
        return is_opaque(value)
    if name == _LOGIN_COMMAND:
        return _LOGIN_KEY.fullmatch(value) is not None
    return is_secret_name(name) or (is_perhaps_secret_name(name) and is_opaque(value))


def takes_value(word: str) -> bool:
    """Whether the next word of a command may be the value of a word."""
    return (word.startswith("-") and "=" not in word) or word == _LOGIN_COMMAND


def _mask_option_value(match: re.Match[str]) -> str:
    name, space, value = match.groups()
    is_value = not value.startswith("-") and value.lower() not in _PROSE
    if is_value and MASK not in value and is_secret_option(name, value):
        return f"{name}{space}{MASK}"
    return match[0]


def _mask_words(match: re.Match[str]) -> str:
    """Mask values of secret options in a list of quoted words."""
    chunks, position, option, password = [], 0, "", ""
    for word in _WORD.finditer(match[0]):
        content, masked = word[0][1:-1], ""
        password = password or password_option(content)
        is_value = bool(option and content) and not content.startswith("--")
        if is_value and is_secret_option(option, content, password):
            masked = MASK
        elif is_attached_password(content, password):
            masked = f"{password}{MASK}"
        if masked:
            chunks += [match[0][position : word.start()], f"'{masked}'"]
            position = word.end()
        option = content if takes_value(content) else ""
    return "".join([*chunks, match[0][position:]])


def _mask_assigned(text: str) -> str:
    """Mask the values of all secret names, at any depth: `a=token=x`, `{"key": "x"}`."""
    secrets, position = [], 0
    for name in _ASSIGNED_NAME.finditer(text):
        start = _VALUE_START.match(text, name.end()) if name.start() >= position else None
        if start is None or not _is_assigned_secret(name[1], name[2], start[0]):
            continue
        value = _ASSIGNED_VALUE.match(text, name.end())
        assert value is not None
        block = block_end(text, name.start(), name.end())
        position = value.end() - len(_closing_quote(value[0])) if block is None else block
        secrets.append((name.end(), position, MASK))
        for first, last in other_literals(text, name, value) if block is None else ():
            opening = _OPENING_QUOTE.match(text, first)
            quote = opening[0] if opening else ""
            secrets.append((first, last, f"{quote}{MASK}{quote}"))
    return _replaced(text, secrets)


def _replaced(text: str, parts: list[tuple[int, int, str]]) -> str:
    """Replace parts of a text; of parts that overlap, the first counts."""
    chunks, position = [], 0
    for start, end, replacement in sorted(parts):
        if start >= position:
            chunks += [text[position:start], replacement]
            position = end
    return "".join([*chunks, text[position:]])


def _closing_quote(value: str) -> str:
    """The end of a value that closes a quotation begun before its name: `'token=x'`."""
    is_quoted = _OPENING_QUOTE.match(value) is not None
    closing = None if is_quoted else _CLOSING_QUOTE.search(value)
    return closing[0] if closing else ""


def _is_assigned_secret(name: str, sign: str, value: str) -> bool:
    if "=>" in sign and is_ambiguous(name):
        return is_opaque(value)
    if is_secret_name(name):
        # `attention.key: 0.5` is a statistic of a model, `key=1234` may be a secret
        return "=" in sign or not _PLAIN_VALUE.fullmatch(value)
    if is_other_variable(name, value):
        return True
    if not is_perhaps_secret_name(name):
        return False
    is_variable = sign == "=" and name.isupper()
    return is_opaque(value) or (is_variable and not _PLAIN_VALUE.fullmatch(value))
