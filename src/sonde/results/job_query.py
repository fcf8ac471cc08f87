"""Queries for jobs, such as `state:failed host:gpu-* date>=2026-11-01 loss<0.5 resnet`."""

import math
import operator
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sonde.errors import UsageError
from sonde.records.job_summary import ListedJob

_TERM = re.compile(r"(-?)([A-Za-z_][\w./-]*?)(:|<=|>=|<|>|=)(.*)", re.DOTALL)
_DURATION = re.compile(r"([0-9.]+)(s|min|m|h|d)?")
_UNITS = {None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_NOT_OVER = ("running", "starting")

_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "=": math.isclose,
    ":": math.isclose,
}

# the texts of a job by field
_TEXTS: Mapping[str, Callable[[ListedJob], Iterable[str]]] = {
    "name": lambda job: (job.name,),
    "state": lambda job: (job.summary.outcome.state, *_group_of_states(job)),
    "host": lambda job: (*job.summary.launch.hosts, *job.summary.launch.nodes),
    "branch": lambda job: (job.summary.launch.branch,),
    "commit": lambda job: (job.summary.launch.commit,),
    "command": lambda job: (job.summary.launch.command,),
    "script": lambda job: (job.summary.launch.script,),
    "rule": lambda job: job.summary.rules,
    "severity": lambda job: job.summary.findings,
    "tag": lambda job: job.annotations.tags,
    "group": lambda job: (job.annotations.group,),
    "note": lambda job: (job.annotations.note,),
}
_EXACT = ("state", "severity", "tag", "group")  # the others match a part of the text
_DATE = "date"
FIELDS = (*_TEXTS, _DATE, "duration", "steps", "findings")


def _group_of_states(job: ListedJob) -> tuple[str, ...]:
    state = job.summary.outcome.state
    return ("over",) if state and state not in _NOT_OVER else ()


@dataclass(frozen=True)
class JobQuery:
    """All terms of a query: a job must match each of them."""

    terms: tuple[Callable[[ListedJob], bool], ...] = ()

    def matches(self, job: ListedJob) -> bool:
        """Whether a job matches all terms."""
        return all(term(job) for term in self.terms)


def parse_query(text: str) -> JobQuery:
    """Parse a query.

    Raises:
        UsageError: A term is invalid.
    """
    try:
        words = shlex.split(text.replace("\\", "\\\\"))
    except ValueError:  # an open quote, while the query is being typed
        words = text.split()
    return JobQuery(tuple(_term(word) for word in words))


def _term(word: str) -> Callable[[ListedJob], bool]:
    match = _TERM.fullmatch(word)
    if match is not None and not match[4]:  # a value is still being typed
        return lambda _job: True
    if match is None or (match[3] == ":" and match[2].lower() not in FIELDS):
        return lambda job: _has_word(job, word.lower())
    sign, name, comparison, value = match.groups()
    term = _field_term(name, comparison, value, word)
    return (lambda job: not term(job)) if sign else term


def _field_term(name: str, comparison: str, value: str, word: str) -> Callable[[ListedJob], bool]:
    field = name.lower()
    if field in _TEXTS:
        if comparison not in ":=":
            raise UsageError(
                f"Invalid query {word!r}: {field} cannot be compared with {comparison}."
            )
        pattern, is_exact = value.lower(), comparison == "=" or field in _EXACT
        return lambda job: any(
            _fits(text.lower(), pattern, is_exact=is_exact) for text in _TEXTS[field](job)
        )
    if field == _DATE:
        return lambda job: _is_dated(job, comparison, value)
    limit = _number(value, word)
    compare = _COMPARISONS[comparison]
    return lambda job: (number := _value(job, name)) is not None and compare(number, limit)


def _has_word(job: ListedJob, word: str) -> bool:
    summary, annotations = job.summary, job.annotations
    texts = (
        *(job.name, summary.outcome.reason, summary.verdict or "", annotations.note),
        *(annotations.group, *annotations.tags, summary.launch.script),
    )
    return any(word in text.lower() for text in texts)


def _fits(text: str, pattern: str, *, is_exact: bool) -> bool:
    if "*" in pattern or "?" in pattern:
        return fnmatchcase(text, pattern)
    return text == pattern if is_exact else pattern in text


def _is_dated(job: ListedJob, comparison: str, value: str) -> bool:
    """Compare the start with the beginning of an ISO time (UTC), such as 2026-11."""
    start = (job.summary.outcome.start_time or "")[: len(value)]
    if not start:
        return False
    if comparison in ":=":
        return start == value
    return _COMPARISONS[comparison]((start > value) - (start < value), 0)


def _number(value: str, word: str) -> float:
    match = _DURATION.fullmatch(value.lstrip("-"))
    try:
        if match is None:
            return float(value)
        number = float(match[1]) * _UNITS[match[2]]
    except ValueError:
        raise UsageError(
            f"Invalid query {word!r}: {value!r} is not a number or a duration such as 10min."
        ) from None
    return -number if value.startswith("-") else number


def _value(job: ListedJob, name: str) -> float | None:
    summary = job.summary
    if name == "duration":
        return summary.outcome.seconds
    if name == "steps":
        return float(summary.steps.get("train", 0))
    if name == "findings":
        return float(sum(summary.findings.values()))
    return summary.metrics.get(name)
