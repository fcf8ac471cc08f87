"""ParameterNotUpdated: planted faults and their healthy twins."""

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob

OWNED = ("body.weight", "body.bias", "neck.weight", "head.weight")
UNOWNED, UNMOVED = "unowned-parameter", "unmoved-parameter"

Recorded = tuple[str, str, int, float, str]  # kind, subject, step, value, detail


def judged(job: FakeJob) -> Evaluation:
    return job.job().check("ParameterNotUpdated")["ParameterNotUpdated"]


def training(*reported: Recorded, steps: int = 60) -> FakeJob:
    """What the hook said of a model with four parameters that get gradients."""
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


def test_a_head_in_the_place_of_another_is_critical_and_named() -> None:
    reported = [(UNOWNED, name, 6, 1.0, "") for name in ("new.weight", "new.bias")]
    [episode] = judged(training(*reported)).episodes
    finding = episode.finding
    assert (finding.severity, finding.tensor) == (Severity.CRITICAL, "new.weight")
    assert "new.weight and 1 more is not in any optimizer" in finding.message
    assert "before the layer was replaced" in finding.message
    assert episode.is_open
    assert episode.first_step == 1


def test_a_head_of_another_shape_is_known_by_its_name() -> None:
    job = training((UNOWNED, "head.bias", 6, 0.0, ""))
    job.worker(restart=1).add_tensor("head.bias", "biases")
    [episode] = judged(job).episodes
    assert episode.severity is Severity.CRITICAL


def test_a_layer_that_was_forgotten_is_found() -> None:
    [episode] = judged(training((UNOWNED, "late.weight", 6, 0.0, ""))).episodes
    assert episode.severity is Severity.WARNING


def test_layers_in_a_plain_list_are_found_however_many_they_are() -> None:
    reported = [(UNOWNED, f"blocks.{index}.weight", 6, 2.0, "") for index in range(12)]
    [episode] = judged(training(*reported)).episodes
    assert (episode.severity, episode.finding.tensor) == (Severity.WARNING, "blocks.0.weight")
    assert "in a plain list" in episode.finding.message


def test_half_a_model_that_was_forgotten_is_found() -> None:
    reported = [(UNOWNED, f"encoder.{index}.weight", 6, 0.0, "") for index in range(len(OWNED))]
    [episode] = judged(training(*reported)).episodes
    assert episode.severity is Severity.WARNING


def test_who_trains_only_a_head_is_left_alone() -> None:
    reported = [(UNOWNED, f"backbone.{index}.weight", 6, 0.0, "") for index in range(12)]
    result = judged(training(*reported))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_one_that_is_owned_in_the_end_recovers() -> None:
    reported = [(UNOWNED, "head.x", 6, 0.0, ""), (UNOWNED, "head.x", 30, 0.0, "over")]
    [episode] = judged(training(*reported)).episodes
    assert not episode.is_open


def test_one_that_does_not_move_is_found_with_its_learning_rate() -> None:
    [episode] = judged(training((UNMOVED, "neck.weight", 12, 10.0, "0.001"))).episodes
    assert "has not changed in 10 steps with a learning rate of 0.001" in episode.finding.message
    assert (episode.first_step, episode.finding.tensor) == (2, "neck.weight")


def test_a_group_with_a_learning_rate_of_zero_is_found() -> None:
    [episode] = judged(training((UNMOVED, "neck.weight", 12, 10.0, "0"))).episodes
    assert "with a learning rate of 0 although it gets gradients" in episode.finding.message


def test_nothing_moves_is_another_rules() -> None:
    reported = [(UNMOVED, name, 12, 10.0, "0.1") for name in OWNED]
    assert judged(training(*reported)).episodes == ()


def test_a_healthy_training_was_looked_at() -> None:
    result = judged(training())
    assert result.status is RuleStatus.NO_ISSUES_FOUND
    assert result.datapoints > 0


def test_a_job_without_a_hook_is_not_judged() -> None:
    job = FakeJob()
    worker = job.worker(framework="")
    for step in range(20):
        worker.step(step, {"forward": 0.1})
    worker.flush()
    assert judged(job.end()).status is RuleStatus.NOT_APPLICABLE
