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
_ASKED = (RuleStatus.NO_ISSUES_FOUND, RuleStatus.IN_PROGRESS)


class Rules(Chart):
    """Rules with findings, then rules without findings, then rules without a result."""

    title = "Rules"
    pages = ("overview", "rules")
    section = "rules"

    def build(self, job: JobResults) -> Spec | None:
        found = sorted(job.judgement().evaluations, key=lambda one: (-one.triggered, one.rule))
        if not found:
            return None
        fired = [one for one in found if one.triggered]
        quiet = [one for one in found if not one.triggered and one.status in _ASKED]
        others = [one for one in found if not one.triggered and one.status not in _ASKED]
        tables = [_fired(fired)] if fired else []
        if quiet:
            tables.append(_quiet(f"{pluralize(len(quiet), 'rule')} without findings", quiet))
        if others:
            title = f"{pluralize(len(others), 'rule')} without a result"
            tables.append(_quiet(title, others))
        return Group(title=self.title, note=_sentence(found), parts=tuple(tables))


def parameters(evaluation: Evaluation) -> str:
    """The parameters of a rule and its setting, as text."""
    said = [f"{name}: {value}" for name, value in evaluation.parameters.items()]
    return ", ".join([*said, evaluation.setting.value])


def _fired(found: Sequence[Evaluation]) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (*_counts(one), one.description, one.recommendation, parameters(one)) for one in found
    )
    return Table(title="Rules with findings", columns=_COLUMNS, rows=rows)


def _quiet(title: str, found: Sequence[Evaluation]) -> Table:
    status = Column(name="status", title="Status", is_number=False)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (*_counts(one), _status(one), one.description, parameters(one)) for one in found
    )
    columns = (*_COLUMNS[:3], status, _COLUMNS[3], _COLUMNS[5])
    return Table(title=title, columns=columns, rows=rows, is_quiet=True)


def _counts(one: Evaluation) -> tuple[Cell, ...]:
    return one.rule, one.triggered, one.datapoints


def _status(one: Evaluation) -> str:
    return f"{one.status.value}: {one.reason}" if one.reason else one.status.value


def _sentence(found: Sequence[Evaluation]) -> str:
    first = found[0]
    if not first.triggered:
        asked = sum(one.status in _ASKED for one in found)
        return f"{pluralize(asked, 'rule')} checked the job; none was triggered."
    return (
        f"{first.rule} was triggered most often: {pluralize(first.triggered, 'time')} "
        f"in {pluralize(first.datapoints, 'sample')}."
    )
