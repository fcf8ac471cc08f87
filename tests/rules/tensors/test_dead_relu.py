"""DeadRelu: planted faults and their healthy twins."""

from collections.abc import Callable

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob
from tests.fakes.training import with_observations

Inspection = Callable[[int], tuple[float, object]]


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("DeadRelu", **parameters)["DeadRelu"]


def layer(inactive: Callable[[int], int], units: int = 64, samples: int = 64) -> Inspection:
    """A layer with a number of units that are zero for at least 99% of a batch."""

    def inspection(step: int) -> tuple[float, object]:
        dead = inactive(step)
        counts = {"0.1": dead, "1": dead, "5": dead, "10": dead, "50": units // 2 + dead // 2}
        return float(units), {"inactive": counts, "samples": samples}

    return inspection


def job_with(layers: dict[str, Inspection], steps: int = 100) -> FakeJob:
    return with_observations("unit-activity", layers, steps)


def test_dead_layer_is_reported_early_with_its_name() -> None:
    job = job_with({"1.relu_output_0": layer(lambda _: 60), "2_output_0": layer(lambda _: 3)})
    [episode] = check(job).episodes
    assert episode.finding.tensor == "1.relu_output_0"
    assert "60 of 64 units (94%) of 1.relu_output_0" in episode.finding.message
    assert (episode.is_open, episode.first_step) == (True, 0)


def test_layer_that_dies_later_is_reported_from_that_step() -> None:
    job = job_with({"relu_output_0": layer(lambda step: 64 if step > 50 else 5)}, 400)
    [episode] = check(job).episodes
    assert episode.first_step is not None
    assert episode.first_step > 50


def test_worst_layer_is_named_first() -> None:
    layers = {"a_output_0": layer(lambda _: 50), "b_output_0": layer(lambda _: 64)}
    [episode] = check(job_with(layers)).episodes
    assert episode.finding.tensor == "b_output_0"
    assert episode.finding.evidence["layers"] == ["b_output_0", "a_output_0"]


@pytest.mark.parametrize(
    ("dead", "severity"), [(44, Severity.INFO), (50, Severity.WARNING)], ids=["69%", "78%"]
)
def test_severity_depends_on_the_share_of_dead_units(dead: int, severity: Severity) -> None:
    [episode] = check(job_with({"relu_output_0": layer(lambda _: dead)})).episodes
    assert episode.severity is severity


HEALTHY = {
    "half of the units, by chance": layer(lambda _: 34),
    "dead for two steps": layer(lambda step: 60 if step in (1, 2) else 4),
    "a small layer": layer(lambda _: 5, units=8),
    "active units in small batches": layer(lambda _: 50, samples=16),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_layers_are_not_reported(name: str) -> None:
    result = check(job_with({"relu_output_0": HEALTHY[name]}))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_batches_of_four_are_not_enough_data() -> None:
    result = check(job_with({"relu_output_0": layer(lambda _: 64, samples=4)}))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 4 of 8 samples per batch"


def test_few_samples_suffice_if_nearly_all_units_are_dead() -> None:
    assert check(job_with({"relu_output_0": layer(lambda _: 63, samples=16)})).episodes


def test_explicit_pattern_selects_layers() -> None:
    layers = {"a_output_0": layer(lambda _: 64), "b_output_0": layer(lambda _: 64)}
    [episode] = check(job_with(layers), tensor_regex="^b_").episodes
    assert episode.finding.tensor == "b_output_0"


def test_rule_does_not_apply_without_relu_layers() -> None:
    assert check(job_with({})).status is RuleStatus.NOT_APPLICABLE


def test_classic_setting_follows_the_documented_criterion() -> None:
    job = job_with({"relu_output_0": layer(lambda step: {2: 33, 5: 32}.get(step, 0))}, 10)
    result = check(job, setting="classic")
    assert result.triggered == 1  # 33 of 64 are more than half, 32 are not
    [episode] = result.episodes
    assert (episode.first_step, episode.last_step) == (2, 2)
    # inactivity of up to 60% uses the count at 50%
    assert check(job, setting="classic", threshold_inactivity=60, threshold_layer=70).triggered == 2
