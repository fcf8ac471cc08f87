"""How many rules could check a job, how many did not have enough data, and what they need."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sonde.formats import pluralize
from sonde.records.finding import Evaluation, RuleStatus
from sonde.records.shortfall import DataUnit, Shortfall

_MAX_REASONS = 3
_BASIC = {"Losses", "Steps"}  # every training has them
_FROM_MACHINE = {"Metric"}
_UNITS = {unit.value: unit for unit in DataUnit}


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The result of one rule, reduced to what coverage depends on."""

    rule: str
    status: RuleStatus
    datapoints: int = 0
    reason: str = ""
    missing: tuple[str, ...] = ()
    shortfall: Shortfall | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many of the rules that apply to a job could judge it."""

    applicable: int = 0
    lacking: int = 0  # the job is over, and they had too little data
    collecting: int = 0  # the job is running, and they do not have enough data yet
    reasons: tuple[str, ...] = ()  # the most common first
    is_final: bool = True  # no rule waits for more data

    def document(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {**asdict(self), "reasons": list(self.reasons)}


def results_of(evaluations: Iterable[Evaluation]) -> list[RuleResult]:
    """The results of rules."""
    return [
        RuleResult(
            evaluation.rule,
            evaluation.status,
            evaluation.datapoints,
            evaluation.reason or "",
            evaluation.missing,
            evaluation.shortfall,
        )
        for evaluation in evaluations
    ]


def results_in(documents: Iterable[Mapping[str, Any]]) -> list[RuleResult]:
    """The results of rules, from `rules` of a status document."""
    return [
        RuleResult(
            document["rule"],
            RuleStatus(document["status"]),
            document["datapoints"],
            document["reason"] or "",
            tuple(document.get("missing", ())),
            _shortfall(document.get("shortfall")),
        )
        for document in documents
    ]


def coverage(results: Sequence[RuleResult], *, is_training: bool, is_inside: bool) -> Coverage:
    """Count the rules that could judge a job.

    Args:
        results: The results of the rules.
        is_training: Whether the job trains something: a framework was imported, or steps recorded.
        is_inside: Whether its steps were recorded.
    """
    lacking = [
        result
        for result in results
        if _lacks_data(result, is_training=is_training, is_inside=is_inside)
    ]
    collecting = [
        result
        for result in results
        if result.status is RuleStatus.IN_PROGRESS and not result.datapoints
    ]
    judging = [
        result
        for result in results
        if result.status is not RuleStatus.NOT_APPLICABLE and result not in lacking + collecting
    ]
    is_live = any(result.status is RuleStatus.IN_PROGRESS for result in results)
    if is_live:
        lacking, collecting = [], lacking + collecting
    return Coverage(
        applicable=len(lacking) + len(collecting) + len(judging),
        lacking=len(lacking),
        collecting=len(collecting),
        reasons=_reasons(lacking or collecting),
        is_final=not is_live,
    )


def coverage_in(status: Mapping[str, Any]) -> Coverage:
    """The coverage in a status document with its rules."""
    seen = status["seen"]
    is_training = seen["inside"] or seen["framework"] is not None
    results = results_in(status["rules"])
    return coverage(results, is_training=is_training, is_inside=seen["inside"])


def no_issues(counts: Coverage) -> str:
    """The sentence for a job without findings."""
    if not counts.applicable:
        return "No rules apply to this job."
    if counts.collecting:
        rules = pluralize(counts.collecting, "rule")
        return f"No issues found so far ({rules} still collecting data)."
    if not counts.lacking:
        return "No issues found." if counts.is_final else "No issues found so far."
    lacking = f"{counts.lacking} of {counts.applicable} rules did not have enough data"
    sentence = f"No issues found so far; {lacking}"
    return f"{sentence}: {'; '.join(counts.reasons)}." if counts.reasons else f"{sentence}."


def _lacks_data(result: RuleResult, *, is_training: bool, is_inside: bool) -> bool:
    if result.status is RuleStatus.NOT_ENOUGH_DATA:
        return True
    if result.status is not RuleStatus.NOT_APPLICABLE or not is_training:
        return False
    missing = set(result.missing)
    return bool(missing & _BASIC if is_inside else missing - _FROM_MACHINE)


def _reasons(results: Sequence[RuleResult]) -> tuple[str, ...]:
    """What rules lack, grouped by the kind of data, the most common first."""
    groups: dict[str, list[RuleResult]] = {}
    for result in results:
        groups.setdefault(_key(result), []).append(result)
    ordered = sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    reasons = [_reason(group) for _, group in ordered[:_MAX_REASONS]]
    remaining = sum(len(group) for _, group in ordered[_MAX_REASONS:])
    return (*reasons, f"{remaining} for other reasons") if remaining else tuple(reasons)


def _key(result: RuleResult) -> str:
    """The kind of data that a rule lacks; rules with only a text are separate groups."""
    if result.missing:
        return "missing"
    return result.shortfall.unit if result.shortfall else f"rule {result.rule}"


def _reason(group: Sequence[RuleResult]) -> str:
    first = group[0]
    subject = f"{len(group)} need" if len(group) > 1 else f"{first.rule} needs"
    if first.missing:
        return f"{subject} training steps (none recorded)"
    amounts = [result.shortfall for result in group if result.shortfall]
    if not amounts:
        return f"{first.rule}: {first.reason}"
    needs = {amount.needs for amount in amounts}
    limit = "up to " if len(needs) > 1 else ""
    counts = {amount.has for amount in amounts}
    recorded = f"{'up to ' if len(counts) > 1 else ''}{max(counts):,} recorded"
    return f"{subject} {limit}{amounts[0].unit.amount(max(needs))} ({recorded})"


def _shortfall(document: Mapping[str, Any] | None) -> Shortfall | None:
    if document is None:
        return None
    return Shortfall(document["has"], document["needs"], _UNITS[document["unit"]])
