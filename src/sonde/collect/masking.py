"""Masks secrets before anything is recorded: in variables and in command lines.

A name that sounds like a secret, a value in the shape of a known token, a password inside a URL, a
long random text: each is replaced. Better one word too many than one key in a store.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

MASK = "***"

_SECRET_NAME = re.compile(
    r"pass(wd|word|phrase)|secret|token|api[_-]?key|access[_-]?key"
    r"|private[_-]?key|(^|[_.-])key$|credential|(^|[_.-])(auth|pwd|pw|pat|dsn|cookie|session|creds?|sig|webhook)($|[_.-])"
    r"|authorization|connection[_-]?string|signature|(^|[_.-])jwt($|[_.-])",
    re.IGNORECASE,
)
# MYPASS and db.pass are secrets; these are other words, and passes of a filter or over data
_OTHER_PASS = re.compile(
    r"(^|[_.-])((by|com|encom|tres|over|under|sur|all)"
    r"|(low|high|band|one|two|single|multi|forward|backward)[_-]?)pass$",
    re.IGNORECASE,
)
# names that sound like one of the above and never hold a secret
_HARMLESS_NAME = re.compile(
    r"^(tokenizers?_.*|.*(max|num|n|min|pad|eos|bos|unk|special)[_-]?(new[_-]?)?tokens?([_-].*)?"
    r"|.*tokens|.*tokens?[_-](per|length|limit|count|id|ids|budget).*|.*tokenize.*"
    r"|xdg_session_.*|ssh_auth_sock|.*session[_-]?(id|type|class|name|manager)|desktop_session"
    r"|gdmsession)$",
    re.IGNORECASE,
)
_WORKING_FOLDER = "PWD"  # as a variable; as an option it is a password
_SECRET_VALUE = re.compile(
    r"(?<![A-Za-z0-9])("
    r"(AKIA|ASIA)[0-9A-Z]{16}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|xox[abposr]-[\w-]{10,}|AIza[\w-]{30,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*"
    r"|(?<=[Bb]earer )[\w.~+/-]{8,}=*|(?<=[Bb]asic )[\w+/]{8,}=*)"
)
_URL_PASSWORD = re.compile(r"(?<=://)([^/\s:@]*):([^/\s]+)(?=@)")
_URL_TOKEN = re.compile(r"(?<=://)[^/\s:@]{16,}(?=@)")
# whoever knows the address of a webhook may post to it
_WEBHOOK = re.compile(
    r"((?:https?://[^\s\"'<>]{0,500}?/(?:webhooks?|webhookb2|services(?=/T[A-Z0-9]{6,}/))"
    r"|hooks\.slack\.com/\w+|discord(?:app)?\.com/api/webhooks|office\.com/webhook(?:b2)?)/)"
    r"[^\s\"'<>;|)]+"
)
# curl -u user:password
_LOGIN_OPTIONS = ("-u", "-U", "--user", "--proxy-user")
_LOGIN_OPTION = re.compile(
    r"(?<![\w-])(-[uU][ =]?|--(?:proxy-)?user[ =])(\"[^\"]*\"|'[^']*'|[^\s\"']+)"
)
_LOGIN = re.compile(r"([\"']?[^\s:/=]*):(?!//)(.+?)([\"']?)", re.DOTALL)
_USER_AND_GROUP = re.compile(r"[\"']?\d+:\d+[\"']?")
# NAME=value, "name": "value", Name: value
_ASSIGNED_NAME = re.compile(r"(?<![\w.-])([\w.-]+)[\"']?\s?[=:]\s*")
_ASSIGNED_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'|(?:bearer |basic )?[^&;,\s]+", re.IGNORECASE)
_RANDOM_WORD = re.compile(r"(?<![\w/.+-])[A-Za-z0-9+_-]{24,}={0,2}(?![\w/.+-])")
_RANDOM_BITS_PER_CHARACTER = 4.0
_RANDOM_PIECE = re.compile(r"[A-Za-z0-9]{12,}")


def mask_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """All variables, sorted by name, secrets masked."""
    return {
        readable(name): MASK if value and _is_secret_variable(name) else mask_text(value)
        for name, value in sorted(variables.items())
    }


def mask_command(words: Sequence[str]) -> tuple[str, ...]:
    """A command line, secrets masked: after `--password`, in `--token=…`, `KEY=…` and URLs."""
    masked = []
    is_value_secret = is_login = False
    for word in words:
        is_option = word.startswith("-")
        name, equals, value = word.partition("=")
        if is_value_secret and not word.startswith("--"):
            masked.append(MASK)
        elif equals and value and re.fullmatch(r"[\w.+~-]+", name) and _is_secret_name(name):
            masked.append(f"{readable(name)}={MASK}")
        elif equals and name in _LOGIN_OPTIONS:
            masked.append(mask_text(f"{name}={_mask_login(value)}"))
        else:
            masked.append(mask_text(_mask_login(word) if is_login else word))
        is_login = word in _LOGIN_OPTIONS
        is_value_secret = is_option and not equals and _is_secret_name(name)
    return tuple(masked)


def readable(text: str) -> str:
    """The text with bytes that are no text replaced: whatever is recorded can be printed."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def _is_secret_variable(name: str) -> bool:
    return name != _WORKING_FOLDER and _is_secret_name(name)


def _is_secret_name(name: str) -> bool:
    name = name.lstrip("-+~")
    if name.lower().endswith("pass") and not _OTHER_PASS.search(name):
        return True
    return bool(_SECRET_NAME.search(name)) and not _HARMLESS_NAME.match(name)


def mask_text(text: str) -> str:
    """Any text, secrets masked where they can be recognised by their shape or by a name."""
    text = _URL_PASSWORD.sub(rf"\1:{MASK}", readable(text))
    text = _URL_TOKEN.sub(MASK, text)
    text = _WEBHOOK.sub(rf"\1{MASK}", text)
    text = _LOGIN_OPTION.sub(lambda match: match[1] + _mask_login(match[2]), text)
    text = _mask_assigned(text)
    text = _SECRET_VALUE.sub(MASK, text)
    return _RANDOM_WORD.sub(_mask_random, text)


def _mask_login(text: str) -> str:
    """`user:password` without the password; what looks like user and group stays."""
    match = _LOGIN.fullmatch(text)
    if match is None or _USER_AND_GROUP.fullmatch(text):
        return text
    return f"{match[1]}:{MASK}{match[3]}"


def _mask_assigned(text: str) -> str:
    """The values of all secret names, however deep: `a=token=x`, `{"key": "x"}`."""
    parts, done = [], 0
    for name in _ASSIGNED_NAME.finditer(text):
        value = _ASSIGNED_VALUE.match(text, name.end())
        if name.start() >= done and value is not None and _is_secret_name(name[1]):
            parts += [text[done : name.end()], MASK]
            done = value.end()
    return "".join([*parts, text[done:]])


def _mask_random(match: re.Match[str]) -> str:
    """A word of letters and digits without any pattern to it; names are made of short pieces."""
    word = match[0]
    counts = Counter(word)
    bits = -sum(n / len(word) * math.log2(n / len(word)) for n in counts.values())
    has_mixture = any(c.isdigit() for c in word) and any(c.isalpha() for c in word)
    is_random = bits >= _RANDOM_BITS_PER_CHARACTER and _RANDOM_PIECE.search(word) is not None
    return MASK if has_mixture and is_random else word
