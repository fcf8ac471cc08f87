"""Every rule: how often it fired, on how many samples, and its parameters."""

from collections.abc import Sequence

from sonde.charts._chart import Chart
from sonde.formats import pluralize
from sonde.records.chart import Cell, Column, Group, Spec, Table
from sonde.records.finding import Evaluation, RuleStatus
from sonde.results.job import JobResults

_COLUMNS = (
    Column(name="rule", title="Rule", is_number=False),
    Column(name="triggered", title="Triggered"),
    Column(name="datapoints", title="Samples"),
    Column(name="description", title="Description", is_number=False),
    Column(name="recommendation", title="Recommendation", is_number=False),
    Column(name="parameters", title="Parameters", is_number=False),
)
_CHECKED = (RuleStatus.NO_ISSUES_FOUND, RuleStatus.IN_PROGRESS)


class Rules(Chart):
    """Rules with findings, then rules without findings, then rules without a result."""

    title = "Rules"
    section = "rules"

    def build(self, job: JobResults) -> Spec | None:
        evaluations = sorted(
            job.judgement().evaluations,
            key=lambda evaluation: (-evaluation.triggered, evaluation.rule),
        )
        if not evaluations:
            return None
        fired = [each for each in evaluations if each.triggered]
        quiet = [each for each in evaluations if not each.triggered and each.status in _CHECKED]
        unresolved = [
            each for each in evaluations if not each.triggered and each.status not in _CHECKED
        ]
        tables = [_fired(fired)] if fired else []
        if quiet:
            tables.append(_quiet(f"{pluralize(len(quiet), 'rule')} without findings", quiet))
        if unresolved:
            title = f"{pluralize(len(unresolved), 'rule')} without a result"
            tables.append(_quiet(title, unresolved))
        return Group(title=self.title, note=_sentence(evaluations), parts=tuple(tables))


def parameters(evaluation: Evaluation) -> str:
    """The parameters of a rule and its setting, as text."""
    texts = [f"{name}: {value}" for name, value in evaluation.parameters.items()]
    return ", ".join([*texts, evaluation.setting.value])


def _fired(evaluations: Sequence[Evaluation]) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (*_counts(each), each.description, each.recommendation, parameters(each))
        for each in evaluations
    )
    return Table(title="Rules with findings", columns=_COLUMNS, rows=rows)


def _quiet(title: str, evaluations: Sequence[Evaluation]) -> Table:
    status = Column(name="status", title="Status", is_number=False)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (*_counts(each), _status(each), each.description, parameters(each)) for each in evaluations
    )
    columns = (*_COLUMNS[:3], status, _COLUMNS[3], _COLUMNS[5])
    return Table(title=title, columns=columns, rows=rows, is_quiet=True)


def _counts(evaluation: Evaluation) -> tuple[Cell, ...]:
    return evaluation.rule, evaluation.triggered, evaluation.datapoints


def _status(evaluation: Evaluation) -> str:
    reason = (evaluation.reason or "").removeprefix("Not enough data: ")  # the status says so
    return f"{evaluation.status.value}: {reason}" if reason else evaluation.status.value


def _sentence(evaluations: Sequence[Evaluation]) -> str:
    first = evaluations[0]
    if not first.triggered:
        checked = sum(each.status in _CHECKED for each in evaluations)
        return f"{pluralize(checked, 'rule')} checked the job; none was triggered."
    return (
        f"{first.rule} was triggered most often: {pluralize(first.triggered, 'time')} "
        f"in {pluralize(first.datapoints, 'sample')}."
    )
