"""ValidationTooGood: planted faults and their healthy twins."""

from collections.abc import Callable

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.evaluations import evaluate
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker

Recorded = Callable[[int], dict[str, int]]  # epoch, from 0, to facts of its evaluation

EPOCHS = 8
SAMPLES = 200
BATCH = 20


def check(job: FakeJob) -> Evaluation:
    return job.job().check("ValidationTooGood")["ValidationTooGood"]


def training(
    reported: Recorded,
    *,
    wrong: tuple[float, float] | None = None,
    losses: tuple[float, float | None] = (1.0, 1.0),
    plays: bool = False,
    folds: int = 1,
    evaluated: tuple[str, ...] = (),
) -> FakeJob:
    """Train for epochs of 40 steps; `wrong`: error rates in training and validation."""
    job = FakeJob()
    worker = job.worker()
    number = 0
    for step in range(40 * EPOCHS):
        worker.scalar("loss", step, losses[0])
        if step % 40 == 0:
            optimizer = str(step * folds // (40 * EPOCHS))
            worker.observation("new-optimizer", optimizer, step, {})
        if wrong is not None and step % 20 == 0:
            worker.observation("class-hits", "predictions", step, _hits(wrong[0]))
        evaluation = {"evaluation": 0.02} if plays else {}
        worker.step(step, {"forward": 0.1, **evaluation})
        for _ in range(5 if step % 40 == 39 else 0):
            if losses[1] is not None:
                worker.scalar("loss", number, losses[1], mode="eval")
            worker.step(number, {"forward": 0.01}, mode="eval")
            number += 1
        if step % 40 == 39:
            worker.observation("samples-again", "input", step, reported(step // 40))
            _evaluate(worker, step, evaluated)
            if wrong is not None:
                evaluate(worker, "test", step + 1, losses[1], hits=_hits(wrong[1]))
    worker.flush()
    return job.end()


def _evaluate(worker: FakeWorker, step: int, names: tuple[str, ...]) -> None:
    for name in names:
        worker.observation("evaluation", name, step, {"samples": 30, "has_loss": True})


def reused_samples(
    share: float,
    *,
    even: bool = True,
    repeated: int = 0,
    covered: float = 1.0,
    samples: int = SAMPLES,
    batch: int = BATCH,
) -> Recorded:
    """An evaluation with a share of known samples, spread evenly over its batches or not."""
    known = round(share * samples)
    pairs = samples // batch * batch * (batch - 1) // 2
    mixed = round(2 * share * (1 - share) * pairs) if even else 0

    def recorded(epoch: int) -> dict[str, int]:
        return {
            "samples": samples,
            "known": known,
            "repeated": repeated,
            "pairs": pairs,
            "mixed": mixed,
            "trained": 800,
            "rows": 800,
            "again": round(800 * covered) if epoch else 4 * repeated,
        }

    return recorded


FACTS = ("samples", "known", "repeated", "pairs", "mixed", "trained", "rows", "again")


def pairs_drawn_with_replacement(epoch: int) -> dict[str, int]:
    """Pairs of users and movies from a real job; its first epoch has few duplicates by chance."""
    first = (3917, 158, 82, 998000, 76682, 3030, 3072, 42)
    later = (1442, 200, 35, 136301, 32902, 4096, 71, 69)
    return dict(zip(FACTS, later if epoch else first, strict=True))


def by_turns(*reported: Recorded) -> Recorded:
    return lambda epoch: reported[epoch % len(reported)](epoch)


def _hits(wrong: float) -> dict[str, list[float]]:
    return {str(index): [50 * (1 - wrong), 50 * wrong] for index in range(4)}


new_samples = reused_samples(0.0)


def test_validation_on_training_samples_is_reported_at_the_second_evaluation() -> None:
    [episode] = check(training(reused_samples(1.0))).episodes
    assert episode.first_step == 79
    assert "200 of 200 evaluation samples" in episode.finding.message


@pytest.mark.parametrize(
    ("evaluated", "is_reported"), [(("input",), True), (("input", "validation"), False)]
)
def test_training_set_evaluated_next_to_a_small_validation_set_is_not_reported(
    evaluated: tuple[str, ...], is_reported: bool
) -> None:
    """The validation set has too few batches for its samples to be compared."""

    def recorded(epoch: int) -> dict[str, int]:
        return reused_samples(1.0)(epoch) | {"is_training_data": 1}

    assert bool(check(training(recorded, evaluated=evaluated)).episodes) is is_reported


def test_samples_in_both_sets_are_reported_once_all_training_data_is_known() -> None:
    [episode] = check(training(reused_samples(0.25))).episodes
    assert "(25%)" in episode.finding.message


def test_worker_that_knows_half_of_the_training_set_reports_half_of_the_evaluation() -> None:
    assert check(training(reused_samples(0.5, covered=0.5))).episodes


def test_single_epoch_over_the_validation_samples_is_reported_at_its_end() -> None:
    def recorded(index: int) -> dict[str, int]:
        return reused_samples((index + 1) / EPOCHS)(0)

    [episode] = check(training(recorded)).episodes
    assert episode.first_step == 40 * EPOCHS - 1


def test_one_batch_of_known_samples_is_info_without_a_loss() -> None:
    """A pass over all data, as for plots or nearest neighbors, is no validation."""
    one_batch = reused_samples(0.8, batch=SAMPLES)
    [plotted] = check(training(one_batch, losses=(1.0, None))).episodes
    [validated] = check(training(one_batch)).episodes
    [in_batches] = check(training(reused_samples(0.8), losses=(1.0, None))).episodes
    assert plotted.severity is Severity.INFO
    assert validated.severity is in_batches.severity is Severity.WARNING


def test_pass_over_the_training_set_is_info_without_a_loss() -> None:
    """Scripts do this to cluster samples, to find hard ones, or to count correct answers."""
    [without_loss] = check(training(reused_samples(1.0), losses=(1.0, None))).episodes
    [validated] = check(training(reused_samples(1.0))).episodes
    assert without_loss.severity is Severity.INFO
    assert validated.severity is Severity.WARNING


@pytest.mark.parametrize(("folds", "is_reported"), [(1, True), (4, False)])
def test_folds_are_reported_only_if_the_same_model_has_seen_them(
    folds: int, is_reported: bool
) -> None:
    """A model that is created anew for each fold has not seen the others."""

    def recorded(epoch: int) -> dict[str, int]:
        return reused_samples(float(epoch >= EPOCHS // 4))(epoch)

    assert bool(check(training(recorded, folds=folds)).episodes) == is_reported


def test_validation_far_better_than_training_is_reported() -> None:
    result = check(training(new_samples, wrong=(0.5, 0.01), losses=(1.0, 0.05)))
    [episode] = result.episodes
    assert "50% in training" in episode.finding.message


def test_training_set_back_after_each_evaluation_is_not_reported() -> None:
    """A network that is pruned after an evaluation is worse for some steps, and is inspected then.

    The evaluation is recorded when training goes on; it belongs to the training before it.
    """
    job = FakeJob()
    worker = job.worker()
    for step in range(100 * EPOCHS):
        is_set_back = step % 100 < 30
        worker.scalar("loss", step, 2.0 if is_set_back else 0.1)
        if step % 100 in (1, 2, 3):
            worker.observation("class-hits", "predictions", step, _hits(0.4))
        worker.step(step, {"forward": 0.1})
        if step % 100 == 0 and step:
            evaluate(worker, "test", step, 0.09, hits=_hits(0.02))
    worker.flush()
    result = check(job.end())
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


HEALTHY = {
    "new samples": new_samples,
    "the training set and a validation set": reused_samples(0.8, even=False),
    "the training set and a small validation set": reused_samples(0.98, even=False),
    "part of the training set, not all known yet": reused_samples(0.3, covered=0.0),
    "duplicate samples": reused_samples(0.3, repeated=30),
    "duplicate pairs": pairs_drawn_with_replacement,
    "training set and validation set alternate": by_turns(reused_samples(0.0), reused_samples(1.0)),
    "the training set once, at the end": lambda e: reused_samples(float(e == EPOCHS - 1))(e),
    "a few samples in both sets": reused_samples(0.04),
    "samples labeled in rounds": lambda e: reused_samples(0.1 + 0.02 * e)(e),
    "hardly any samples": reused_samples(1.0, samples=15),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_evaluations_are_not_reported(name: str) -> None:
    assert check(training(HEALTHY[name])).episodes == ()


def test_known_samples_in_reinforcement_learning_are_not_reported() -> None:
    assert check(training(reused_samples(1.0), plays=True)).episodes == ()


@pytest.mark.parametrize(
    ("wrong", "losses"),
    [
        ((0.5, 0.2), (1.5, 0.6)),  # dropout and augmentation
        ((0.05, 0.01), (0.2, 0.04)),  # nearly all predictions are right
        ((0.5, 0.01), (1.0, 0.8)),  # the loss is not much better
        ((0.1, 0.3), (0.3, 0.9)),
    ],
)
def test_slightly_better_validation_is_not_reported(
    wrong: tuple[float, float], losses: tuple[float, float]
) -> None:
    result = check(training(new_samples, wrong=wrong, losses=losses))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
