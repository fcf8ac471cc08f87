"""ParameterNotUpdated: planted faults and their healthy twins."""

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob

OWNED = ("body.weight", "body.bias", "neck.weight", "head.weight")
UNOWNED, UNMOVED = "unowned-parameter", "unmoved-parameter"

Recorded = tuple[str, str, int, float, str]  # kind, subject, step, value, detail


def check(job: FakeJob) -> Evaluation:
    return job.job().check("ParameterNotUpdated")["ParameterNotUpdated"]


def training(*reported: Recorded, steps: int = 60) -> FakeJob:
    """A model with four parameters that get gradients, and observations of the hook."""
    job = FakeJob()
    worker = job.worker()
    for name in OWNED:
        worker.add_tensor(f"gradient/{name}", "gradients")
    for step in range(steps):
        for kind, subject, at, value, detail in reported:
            if at == step:
                worker.observation(kind, subject, step, detail, value=value)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def test_replaced_head_is_critical_and_named() -> None:
    reported = [(UNOWNED, name, 6, 1.0, "") for name in ("new.weight", "new.bias")]
    [episode] = check(training(*reported)).episodes
    finding = episode.finding
    assert (finding.severity, finding.tensor) == (Severity.CRITICAL, "new.weight")
    assert "new.weight and 1 more are not in any optimizer" in finding.message
    assert "before the layer was replaced" in finding.message
    assert episode.is_open
    assert episode.first_step == 1


def test_replaced_head_of_another_shape_is_recognized_by_its_name() -> None:
    job = training((UNOWNED, "head.bias", 6, 0.0, ""))
    job.worker(restart=1).add_tensor("head.bias", "biases")
    [episode] = check(job).episodes
    assert episode.severity is Severity.CRITICAL


def test_layer_without_an_optimizer_is_reported() -> None:
    [episode] = check(training((UNOWNED, "late.weight", 6, 0.0, ""))).episodes
    assert episode.severity is Severity.WARNING


def test_many_layers_in_a_plain_list_are_reported() -> None:
    reported = [(UNOWNED, f"blocks.{index}.weight", 6, 2.0, "") for index in range(12)]
    [episode] = check(training(*reported)).episodes
    assert (episode.severity, episode.finding.tensor) == (Severity.WARNING, "blocks.0.weight")
    assert "in a plain list" in episode.finding.message


def test_half_of_a_model_without_an_optimizer_is_reported() -> None:
    reported = [(UNOWNED, f"encoder.{index}.weight", 6, 0.0, "") for index in range(len(OWNED))]
    [episode] = check(training(*reported)).episodes
    assert episode.severity is Severity.WARNING


def test_training_only_a_head_is_not_reported() -> None:
    reported = [(UNOWNED, f"backbone.{index}.weight", 6, 0.0, "") for index in range(12)]
    result = check(training(*reported))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_finding_is_resolved_when_an_optimizer_gets_the_parameter() -> None:
    reported = [(UNOWNED, "head.x", 6, 0.0, ""), (UNOWNED, "head.x", 30, 0.0, "over")]
    [episode] = check(training(*reported)).episodes
    assert not episode.is_open


def test_unmoved_parameter_is_reported_with_its_learning_rate() -> None:
    [episode] = check(training((UNMOVED, "neck.weight", 12, 10.0, "0.001"))).episodes
    assert "has not changed in 10 steps with a learning rate of 0.001" in episode.finding.message
    assert (episode.first_step, episode.finding.tensor) == (2, "neck.weight")


def test_learning_rate_of_zero_is_reported() -> None:
    [episode] = check(training((UNMOVED, "neck.weight", 12, 10.0, "0"))).episodes
    assert "with a learning rate of 0 despite having gradients" in episode.finding.message


def test_model_that_does_not_move_at_all_is_not_reported() -> None:
    reported = [(UNMOVED, name, 12, 10.0, "0.1") for name in OWNED]
    assert check(training(*reported)).episodes == ()


def test_healthy_training_is_checked_without_issues() -> None:
    result = check(training())
    assert result.status is RuleStatus.NO_ISSUES_FOUND
    assert result.datapoints > 0


def test_rule_does_not_apply_without_a_framework_hook() -> None:
    job = FakeJob()
    worker = job.worker(framework="")
    for step in range(20):
        worker.step(step, {"forward": 0.1})
    worker.flush()
    assert check(job.end()).status is RuleStatus.NOT_APPLICABLE
