"""Every rule that was asked: how often it fired, on how many datapoints, with which parameters."""

from sonde.records.finding import Evaluation
from sonde.show.charts._chart import Chart
from sonde.show.job_view import JobView
from sonde.show.specs import Column, Spec, Table
from sonde.show.units import counted


class Rules(Chart):
    """Every rule, those that fired most often first."""

    title = "Rules summary"
    pages = ("overview", "rules")
    section = "rules"

    def build(self, job: JobView) -> Spec | None:
        found = sorted(job.judgement().evaluations, key=lambda one: (-one.triggered, one.rule))
        if not found:
            return None
        return Table(
            title=self.title,
            note=_sentence(found),
            columns=(
                Column(name="rule", title="Rule", is_number=False),
                Column(name="status", title="Status", is_number=False),
                Column(name="triggered", title="Times triggered"),
                Column(name="datapoints", title="Datapoints"),
                Column(name="parameters", title="Parameters", is_number=False),
                Column(name="description", title="Description", is_number=False),
                Column(name="recommendation", title="Recommendation", is_number=False),
            ),
            rows=tuple(
                (
                    one.rule,
                    one.status.value,
                    one.triggered,
                    one.datapoints,
                    parameters(one),
                    one.description,
                    one.recommendation if one.triggered else "",
                )
                for one in found
            ),
        )


def parameters(evaluation: Evaluation) -> str:
    """The parameters in force, and how the rule asks."""
    said = [f"{name}: {value}" for name, value in evaluation.parameters.items()]
    return ", ".join([*said, evaluation.setting.value])


def _sentence(found: list[Evaluation]) -> str:
    first = found[0]
    if not first.triggered:
        return f"{counted(len(found), 'rule')} looked at the job, and none was triggered."
    return (
        f"{first.rule} was triggered most often: {counted(first.triggered, 'time')} "
        f"in {first.datapoints:,} datapoints."
    )
