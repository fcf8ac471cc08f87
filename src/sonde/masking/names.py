"""Recognize names of options and variables whose values are secrets."""

import re

# values of these names are always masked
_SECRET = re.compile(
    r"pass(wd|word|phrase|code)|mnemonic|secret|token|api[_-]?key|access[_-]?key|account[_-]?key"
    r"|private[_-]?key|(^|[_.-])key$|credential"
    r"|(^|[_.-])(auth|pwd|pw|pat|dsn|cookie|session|creds?|sig|webhook)($|[_.-])"
    r"|authorization|connection[_-]?string|signature|(^|[_.-])jwt($|[_.-])",
    re.IGNORECASE,
)
# values of these names are masked unless they look like a word or a number
_PERHAPS = re.compile(
    r"(^|[_.-])keys?\d*($|[_.-])|(^|[_.-])(tokens|secrets|passwords)\d*$", re.IGNORECASE
)
# MYKEY, SSHKEY2: variables in upper case
_CAPITAL_KEY = re.compile(r"[A-Z0-9_]*[A-Z0-9]KEYS?\d*")
_OTHER_CAPITAL_KEYS = re.compile(r".*(MON|HOT|TUR|DON|JOC|HOC)KEYS?\d*")
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# MYPASS and db.pass are secrets; these are other words, and passes of filters or over data
_OTHER_PASS = re.compile(
    r"(^|[_.-])((by|com|encom|tres|over|under|sur|all)"
    r"|(low|high|band|one|two|single|multi|forward|backward)[_-]?)pass$",
    re.IGNORECASE,
)
# names that match the patterns above but never hold a secret
_HARMLESS = re.compile(
    r"^(tokenizers?_.*|.*(max|num|n|min|pad|eos|bos|unk|special|sep|cls|mask)[_-]?(new[_-]?)?"
    r"tokens?([_-].*)?"
    r"|.*tokens|.*tokens?[_-](per|length|limit|count|id|ids|budget|embed\w*|type\w*).*"
    r"|.*tokenize.*|xdg_session_.*|ssh_auth_sock"
    r"|.*session[_-]?(id|type|class|name|manager)|desktop_session|gdmsession)$",
    re.IGNORECASE,
)
# layers.0.attention.key is a module of a model; the text after KeyError is not a secret
_MODULE = re.compile(
    r".*(\.\d+\.|att(entio)?n).*\.(key|keys|token|session)|.*(Error|Exception|Warning)",
    re.IGNORECASE,
)
_MAX_LENGTH = 200


def is_secret_name(name: str) -> bool:
    """Whether the value of an option or variable with this name is a secret."""
    name = name.lstrip("-+~")[:_MAX_LENGTH]
    if name.lower().endswith("pass") and not _OTHER_PASS.search(name):
        return True
    if _HARMLESS.match(name) or _MODULE.fullmatch(name):
        return False
    return bool(_SECRET.search(name) or _SECRET.search(_CAMEL_CASE.sub("_", name)))


def is_perhaps_secret_name(name: str) -> bool:
    """Whether a value with this name is a secret if it looks like one."""
    name = name.lstrip("-+~")[:_MAX_LENGTH]
    if _MODULE.fullmatch(name):
        return False
    if _CAPITAL_KEY.fullmatch(name):
        return not _OTHER_CAPITAL_KEYS.fullmatch(name)
    return bool(_PERHAPS.search(_CAMEL_CASE.sub("_", name)))
