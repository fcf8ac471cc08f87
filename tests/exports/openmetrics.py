"""A small OpenMetrics parser, written from the specification and independent of the exporter.

It refuses what the specification forbids: families that are not contiguous, a unit that is not the
suffix of the name, metrics whose timestamps do not rise, text after `# EOF`.
"""

import re
from dataclasses import dataclass, field

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
_SAMPLE = re.compile(rf"({_NAME})(?:\{{(.*)\}})? (\S+)(?: (\S+))?")
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}

Labels = tuple[tuple[str, str], ...]


@dataclass
class Family:
    kind: str = ""
    unit: str = ""
    help: str = ""
    points: dict[Labels, list[tuple[float, float]]] = field(default_factory=dict)
    has_samples: bool = False


def parse(text: str) -> dict[str, Family]:
    """Return the metric families of an exposition; raise ValueError if it is invalid."""
    if not text.endswith("# EOF\n") or text.count("# EOF") != 1:
        raise ValueError("it must end with one # EOF and a line feed")
    families: dict[str, Family] = {}
    current = ""
    for line in text.split("\n")[:-2]:
        if line.startswith("# "):
            current = _describe(line, current, families)
        else:
            _add(line, current, families)
    return families


def _describe(line: str, current: str, families: dict[str, Family]) -> str:
    word, name, rest = line.removeprefix("# ").split(" ", 2)
    if not re.fullmatch(_NAME, name):
        raise ValueError(f"{name!r} is not a name")
    if name != current and name in families:
        raise ValueError(f"{name} is not contiguous")
    family = families.setdefault(name, Family())
    attribute = {"HELP": "help", "TYPE": "kind", "UNIT": "unit"}[word]
    if getattr(family, attribute) or family.has_samples:
        raise ValueError(f"{word} of {name} comes twice or late")
    if word == "UNIT" and not name.endswith(f"_{rest}"):
        raise ValueError(f"{name} does not end with its unit {rest}")
    setattr(family, attribute, _unescape(rest))
    return name


def _add(line: str, current: str, families: dict[str, Family]) -> None:
    match = _SAMPLE.fullmatch(line)
    if match is None or match[1] != current:
        raise ValueError(f"not a sample of {current}: {line!r}")
    family = families[current]
    family.has_samples = True
    labels = _labels(match[2] or "")
    expected = list(family.points)
    points = family.points.setdefault(labels, [])
    if points and expected[-1] != labels:
        raise ValueError(f"the points of {labels} are not together")
    time = float(match[4])
    if points and time <= points[-1][0]:
        raise ValueError(f"time does not rise: {line!r}")
    points.append((time, float(match[3])))


def _labels(text: str) -> Labels:
    result, end = [], 0
    for match in _LABEL.finditer(text):
        if match.start() != end:
            raise ValueError(f"not labels: {text!r}")
        result.append((match[1], _unescape(match[2])))
        end = match.end()
    if end != len(text) or len({name for name, _ in result}) != len(result):
        raise ValueError(f"not labels: {text!r}")
    return tuple(result)


def _unescape(text: str) -> str:
    return re.sub(r'\\[\\"n]', lambda match: _ESCAPES[match[0]], text)
