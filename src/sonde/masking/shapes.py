"""Recognize secrets by their format."""

import math
import re
from collections import Counter
from functools import cache

# token formats of providers, most with a fixed prefix
_TOKENS = (
    r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}",  # Amazon
    r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}",
    r"gl(?:pat|ptt|dt|rt|cbt|imt|ft|soat|oas|agent)-[\w-]{16,}",  # GitLab
    r"xox[abeoprs]-[\w-]{10,}|xapp-\d-[\w-]{10,}|xwfp-[\w-]{10,}",  # Slack
    r"(?:sk|rk|pk)_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{16,}",  # Stripe
    r"sk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic, OpenRouter
    r"hf_[A-Za-z0-9]{16,}|api_org_[A-Za-z0-9]{16,}",  # Hugging Face
    r"AIza[\w-]{30,}|ya29\.[\w-]{16,}|GOCSPX-[\w-]{20,}",  # Google
    r"(?:nvapi|xai|pplx|gsk|r8|fw|tgp_v1|nvapi-stg)[-_][A-Za-z0-9_-]{24,}",  # model providers
    r"npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|dckr_pat_[\w-]{20,}|rubygems_[a-f0-9]{40,}",
    r"do[opr]_v1_[a-f0-9]{40,}|dapi[a-f0-9]{32}(?:-\d)?|dp\.pt\.[A-Za-z0-9]{30,}",
    r"SG\.[\w-]{16,}\.[\w-]{16,}|SK[0-9a-f]{32}|key-[0-9a-f]{32}",  # email and SMS services
    r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}|sq0(?:atp|csp)-[\w-]{20,}|EAAA[\w-]{40,}",  # shops
    r"hv[sbr]\.[\w-]{20,}|ATATT3[\w=-]{20,}|lin_api_[A-Za-z0-9]{30,}|tskey-[\w-]{16,}",
    r"gl(?:sa|c)_[A-Za-z0-9_=-]{24,}|sntry[su]_[\w=+/-]{24,}|NRAK-[A-Z0-9]{20,}|sbp_[a-f0-9]{40}",
    r"PMAK-[A-Za-z0-9-]{30,}|AGE-SECRET-KEY-1[A-Z0-9]{50,}|[A-Za-z0-9_~.]{3}8Q~[\w.~-]{30,}",
    r"(?:bot)?\d{8,10}:AA[\w-]{32,}|[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,}",  # bots of chats
    r"1//0[\w-]{30,}|A{20}[A-Za-z0-9%]{30,}|t1\.[\w-]{10,}={0,2}\.[\w-]{60,}",  # Google, X, Yandex
    r"[a-f0-9]{32}-(?:us\d{1,2}|[a-f0-9]{8}-[a-f0-9]{8})(?![\w-])",  # Mailchimp, Mailgun
    r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}|s\.(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}(?![A-Za-z0-9])",
    r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}|[01]/\d{16}:[a-f0-9]{32}|dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{30,}",
    r"HRKU-[\w-]{30,}|v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}|access_token\$[a-z]+\$\w+\$[a-f0-9]{32}",
    r"(?:sdk|mob)-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}|(?:live|test)_[a-f0-9]{35}",
    r"sm_(?:aat|pat|sat)_[A-Za-z0-9]{16}|bk[a-z]{2}_[a-f0-9]{40}|sq[aup]_[a-f0-9]{40}",
    r"secret_\w{1,40}_[a-f0-9]{32}\.[A-Za-z0-9]{32}|A3-[A-Z0-9]{6}-[A-Z0-9-]{11,13}(?:-[A-Z0-9]{5}){3}",
    r"\$(?:2[abxy]|[156y]|apr1|argon2\w{1,2})\$[\w./$=,+-]{20,}",  # hashes of passwords
    r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",  # a JSON web token
)
_HEADER = re.compile(
    r"\b([Bb]earer|[Bb]asic|BEARER|BASIC)(\s{1,4})(?=[^\s\"']{0,200}[A-Z0-9=])[\w.~+/-]{8,}=*"
)
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_RANDOM_WORD = re.compile(r"(?<![\w/.+-])[A-Za-z0-9+_-]{24,}={0,2}(?![\w/.+-])")
# base64 contains slashes like paths; padding and length distinguish it from them
_BASE64 = re.compile(r"(?<![\w/.+-])[A-Za-z0-9+/]{38,}={1,2}(?![\w/.+=-])")
_RANDOM_BITS_PER_CHARACTER = 4.0
_VARIED_CHARACTERS = 24
_RANDOM_SEGMENT = re.compile(r"[A-Za-z0-9]{12,}")
_CAPITALIZED = re.compile(r"[A-Z][a-z]{2,}")
_MIN_CAPITALIZED_SHARE = 0.75


def mask_shapes(text: str, mask: str) -> str:
    """Mask everything that has the format of a secret."""
    text = _HEADER.sub(rf"\1\2{mask}", text)
    text = _tokens().sub(mask, text)
    text = _BASE64.sub(mask, text)
    return _RANDOM_WORD.sub(lambda match: mask if _is_random(match[0]) else match[0], text)


@cache
def _tokens() -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_TOKENS)})")


def mask_private_keys(text: str, mask: str) -> str:
    """Mask entire private keys; a key without an end is masked to the end of the text."""
    chunks, position = [], 0
    while begin := _KEY_BEGIN.search(text, position):
        end = _KEY_END.search(text, begin.end())
        chunks += [text[position : begin.start()], mask]
        position = end.end() if end else len(text)
    return "".join([*chunks, text[position:]])


def _is_random(word: str) -> bool:
    """Whether a word looks like random letters and digits; names consist of short segments."""
    counts = Counter(word)
    bits = -sum(n / len(word) * math.log2(n / len(word)) for n in counts.values())
    has_mixture = any(c.isdigit() for c in word) and any(c.isalpha() for c in word)
    is_varied = bits >= _RANDOM_BITS_PER_CHARACTER or len(counts) >= _VARIED_CHARACTERS
    is_random = is_varied and _RANDOM_SEGMENT.search(word) is not None
    return has_mixture and is_random and not _is_camel_case(word)


def _is_camel_case(word: str) -> bool:
    """Whether a word consists mostly of capitalized words, like the name of a class."""
    return sum(map(len, _CAPITALIZED.findall(word))) >= _MIN_CAPITALIZED_SHARE * len(word)


def is_opaque(value: str) -> bool:
    """Whether a value does not look like a word, a number or a path."""
    value = value.strip("\"'")
    if len(value) < 6 or "/" in value or _NUMBER.fullmatch(value):
        return False
    has_digit = any(c.isdigit() for c in value)
    has_letter = any(c.isalpha() for c in value)
    return (has_digit and has_letter) or any(c in "!@#$%^&*~" for c in value)


_NUMBER = re.compile(r"[-+]?[\d.,_]+(?:e[-+]?\d+)?[A-Za-z%]{0,2}", re.IGNORECASE)
