"""ValidationTooGood: planted faults and their healthy twins."""

from collections.abc import Callable

import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.evaluations import evaluate
from tests.fakes.job import FakeJob
from tests.fakes.worker import FakeWorker

Recorded = Callable[[int], dict[str, int]]  # of the evaluation of an epoch, the first is 0

EPOCHS = 8
SAMPLES = 200
BATCH = 20


def judged(job: FakeJob) -> Evaluation:
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
    """Epochs of 40 steps with an evaluation after each; errors in training and validation."""
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
    """An evaluation of which a share was trained on before, spread over its batches or not."""
    memory = round(share * samples)
    pairs = samples // batch * batch * (batch - 1) // 2
    mixed = round(2 * share * (1 - share) * pairs) if even else 0

    def recorded(epoch: int) -> dict[str, int]:
        return {
            "samples": samples,
            "known": memory,
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
    """Users and films, as recorded: the first epoch had fewer pairs twice than most would."""
    first = (3917, 158, 82, 998000, 76682, 3030, 3072, 42)
    later = (1442, 200, 35, 136301, 32902, 4096, 71, 69)
    return dict(zip(FACTS, later if epoch else first, strict=True))


def by_turns(*reported: Recorded) -> Recorded:
    return lambda epoch: reported[epoch % len(reported)](epoch)


def _hits(wrong: float) -> dict[str, list[float]]:
    return {str(index): [50 * (1 - wrong), 50 * wrong] for index in range(4)}


of_its_own = reused_samples(0.0)


def test_a_validation_on_what_was_trained_is_found_at_its_second_evaluation() -> None:
    [episode] = judged(training(reused_samples(1.0))).episodes
    assert episode.first_step == 79
    assert "200 of 200 evaluation samples" in episode.finding.message


@pytest.mark.parametrize(
    ("evaluated", "is_found"), [(("input",), True), (("input", "validation"), False)]
)
def test_a_training_set_evaluated_beside_a_small_validation_set_is_no_validation(
    evaluated: tuple[str, ...], is_found: bool
) -> None:
    """The validation set has too few batches for its samples to be compared."""

    def recorded(epoch: int) -> dict[str, int]:
        return reused_samples(1.0)(epoch) | {"is_training_data": 1}

    assert bool(judged(training(recorded, evaluated=evaluated)).episodes) is is_found


def test_a_part_that_is_in_both_sets_is_found_once_all_that_is_trained_on_is_known() -> None:
    [episode] = judged(training(reused_samples(0.25))).episodes
    assert "(25%)" in episode.finding.message


def test_a_worker_that_knows_half_of_the_training_set_knows_half_of_it_in_the_evaluation() -> None:
    assert judged(training(reused_samples(0.5, covered=0.5))).episodes


def test_one_epoch_over_what_is_evaluated_is_found_at_its_end() -> None:
    def recorded(index: int) -> dict[str, int]:
        return reused_samples((index + 1) / EPOCHS)(0)

    [episode] = judged(training(recorded)).episodes
    assert episode.first_step == 40 * EPOCHS - 1


def test_one_batch_of_known_samples_is_a_hint_unless_a_loss_is_made_of_it() -> None:
    """All the data at once, to draw it or to look for neighbours, is no validation."""
    at_once = reused_samples(0.8, batch=SAMPLES)
    [drawn] = judged(training(at_once, losses=(1.0, None))).episodes
    [validated] = judged(training(at_once)).episodes
    [in_batches] = judged(training(reused_samples(0.8), losses=(1.0, None))).episodes
    assert drawn.severity is Severity.INFO
    assert validated.severity is in_batches.severity is Severity.WARNING


def test_a_pass_over_what_is_trained_on_is_a_hint_unless_a_loss_is_made_of_it() -> None:
    """So clusters and hard samples are looked for; many also count right answers so."""
    [sorted_out] = judged(training(reused_samples(1.0), losses=(1.0, None))).episodes
    [validated] = judged(training(reused_samples(1.0))).episodes
    assert sorted_out.severity is Severity.INFO
    assert validated.severity is Severity.WARNING


@pytest.mark.parametrize(("folds", "is_found"), [(1, True), (4, False)])
def test_folds_that_one_model_has_seen_all_of_are_no_validation(folds: int, is_found: bool) -> None:
    """Whoever begins anew with each fold knows nothing of the others."""

    def recorded(epoch: int) -> dict[str, int]:
        return reused_samples(float(epoch >= EPOCHS // 4))(epoch)

    assert bool(judged(training(recorded, folds=folds)).episodes) == is_found


def test_a_validation_that_is_far_better_from_the_first_is_found() -> None:
    result = judged(training(of_its_own, wrong=(0.5, 0.01), losses=(1.0, 0.05)))
    [episode] = result.episodes
    assert "50% in training" in episode.finding.message


def test_a_training_thrown_back_right_after_each_evaluation_is_left_alone() -> None:
    """A network that is pruned after an evaluation is bad for some steps, and inspected then.

    The evaluation is recorded when training goes on; it belongs to the training before it.
    """
    job = FakeJob()
    worker = job.worker()
    for step in range(100 * EPOCHS):
        is_thrown_back = step % 100 < 30
        worker.scalar("loss", step, 2.0 if is_thrown_back else 0.1)
        if step % 100 in (1, 2, 3):
            worker.observation("class-hits", "predictions", step, _hits(0.4))
        worker.step(step, {"forward": 0.1})
        if step % 100 == 0 and step:
            evaluate(worker, "test", step, 0.09, hits=_hits(0.02))
    worker.flush()
    result = judged(job.end())
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


HEALTHY = {
    "its own samples": of_its_own,
    "the training set and a validation set": reused_samples(0.8, even=False),
    "the training set and a small validation set": reused_samples(0.98, even=False),
    "parts of the training set that are not all known yet": reused_samples(0.3, covered=0.0),
    "samples that are there twice": reused_samples(0.3, repeated=30),
    "pairs that are there twice": pairs_drawn_with_replacement,
    "the training set in turns with a validation set": by_turns(
        reused_samples(0.0), reused_samples(1.0)
    ),
    "the training set once, in the end": lambda e: reused_samples(float(e == EPOCHS - 1))(e),
    "a few that are in both": reused_samples(0.04),
    "samples that are labelled round by round": lambda e: reused_samples(0.1 + 0.02 * e)(e),
    "hardly any samples": reused_samples(1.0, samples=15),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_evaluations_are_left_alone(name: str) -> None:
    assert judged(training(HEALTHY[name])).episodes == ()


def test_a_model_that_plays_meets_again_what_it_has_learned_from() -> None:
    assert judged(training(reused_samples(1.0), plays=True)).episodes == ()


@pytest.mark.parametrize(
    ("wrong", "losses"),
    [
        ((0.5, 0.2), (1.5, 0.6)),  # dropout and augmentation
        ((0.05, 0.01), (0.2, 0.04)),  # nearly all is right
        ((0.5, 0.01), (1.0, 0.8)),  # the loss says otherwise
        ((0.1, 0.3), (0.3, 0.9)),
    ],
)
def test_a_validation_that_is_a_little_better_is_left_alone(
    wrong: tuple[float, float], losses: tuple[float, float]
) -> None:
    result = judged(training(of_its_own, wrong=wrong, losses=losses))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())
