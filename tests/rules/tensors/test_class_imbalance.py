"""ClassImbalance: planted faults and their healthy twins."""

import numpy as np
import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob
from tests.fakes.training import with_observations

Counts = dict[str, int]


def judged(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("ClassImbalance", **parameters)["ClassImbalance"]


def labelled(counts: list[Counts], tokens: float = 0.0) -> FakeJob:
    """A job whose labels were counted so, a hundred steps each; tokens go in with each step."""
    job = FakeJob()
    worker = job.worker()
    for step in range(100 * len(counts)):
        if tokens and step % 100 == 0:
            worker.observation("input-tokens", "input_0", step, {"counts": {}}, value=tokens)
        if step % 100 == 99:
            count = counts[step // 100]
            worker.observation("label-histogram", "labels", step, count, value=sum(count.values()))
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def predicted(hits: list[dict[str, list[int]]]) -> FakeJob:
    count = {"predictions": lambda step: (100.0, hits[step])}
    return with_observations("class-hits", count, len(hits), at=range(len(hits)))


def test_a_rare_class_is_found_and_named() -> None:
    result = judged(labelled([{"0": 3000, "1": 150}] * 4))
    [episode] = result.episodes
    assert "Class 0 occurs 12,000 times and class 1 600 times" in episode.finding.message
    assert episode.finding.evidence["ratio"] == pytest.approx(20)


def test_a_short_job_is_judged_at_its_end() -> None:
    assert judged(labelled([{"0": 3000, "1": 150}])).episodes


def rare_and(hits: dict[str, dict[str, list[int]]]) -> Severity:
    """How bad a rare class is of which so many were right and wrong, mode by mode."""
    job = FakeJob()
    worker = job.worker()
    for step in range(400):
        for mode, facts in hits.items():
            if step % 40 == 30:
                worker.observation("class-hits", "predictions", step, facts, mode=mode, value=100.0)
        if step % 100 == 99:
            counts = {"0": 3000, "1": 150}
            worker.observation("label-histogram", "labels", step, counts, value=3150)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    [episode] = [
        episode for episode in judged(job.end()).episodes if "occurs" in episode.finding.message
    ]
    return episode.severity


LEARNED, IGNORED = {"0": [90, 5], "1": [5, 0]}, {"0": [95, 0], "1": [1, 4]}


def test_a_rare_class_that_is_learned_is_a_hint() -> None:
    assert rare_and({"train": LEARNED}) is Severity.INFO


@pytest.mark.parametrize(
    "hits",
    [
        {"train": IGNORED},
        {"train": LEARNED, "eval": IGNORED},  # by heart
        {"train": {"0": [95, 0]}},  # nobody knows
    ],
)
def test_a_rare_class_that_is_not_known_to_be_learned_is_more(
    hits: dict[str, dict[str, list[int]]],
) -> None:
    assert rare_and(hits) is Severity.WARNING


def drawn(classes: int, samples: int, seed: int) -> Counts:
    labels = np.random.default_rng(seed).integers(0, classes, samples)
    return {str(label): int(count) for label, count in enumerate(np.bincount(labels))}


@pytest.mark.parametrize("seed", range(5))
def test_balanced_classes_are_left_alone_however_few_samples_each_has(seed: int) -> None:
    counts = [drawn(100, 600, seed)]
    result = judged(labelled(counts))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_classes_that_come_one_after_the_other_are_balanced_in_the_end() -> None:
    counts = [{"0": 900, "1": 20}, {"0": 20, "1": 900}, {"0": 900, "1": 900}]
    assert judged(labelled(counts)).episodes == ()


def test_data_in_order_of_its_classes_is_another_rule_s() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(100):
        if step % 10 == 0:
            worker.observation("label-batch", "labels", step, {str(step // 25): 32}, value=32)
        worker.step(step, {"forward": 0.1})
    counts = {"0": 800, "1": 800, "2": 800, "3": 10}
    worker.observation("label-histogram", "labels", 99, counts, value=2410)
    worker.flush()
    assert judged(job.end()).episodes == ()


def test_letters_of_a_text_are_rare_by_nature() -> None:
    text = [{"32": 40_000, "101": 20_000, "90": 12}] * 4
    result = judged(labelled(text, tokens=640.0))
    assert (result.status, result.episodes) == (RuleStatus.NOT_APPLICABLE, ())
    assert judged(labelled([{"0": 3000, "1": 150}] * 4, tokens=640.0)).episodes


def test_pixels_of_an_image_are_rare_by_nature() -> None:
    job = FakeJob()
    worker = job.worker().add_tensor("input_0", "inputs")  # two samples
    for step in range(100):
        if step in (0, 1, 2):
            worker.statistics("input_0", step, [0.0, 1.0])
            worker.observation("label-batch", "labels", step, {"0": 120, "1": 8}, value=128)
        worker.step(step, {"forward": 0.1})
    worker.observation("label-histogram", "labels", 99, {"0": 12000, "1": 800}, value=12800)
    worker.flush()
    result = judged(job.end())
    assert (result.status, result.episodes) == (RuleStatus.NOT_APPLICABLE, ())


@pytest.mark.parametrize(("spread", "is_found"), [(0, True), (9, False)])
def test_hidden_words_of_a_text_are_another_number_in_each_batch(
    spread: int, is_found: bool
) -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(100):
        if step % 10 == 0:
            hidden = 64 + (7 * step // 10) % (spread + 1)
            worker.observation("label-batch", "labels", step, {"0": hidden}, value=hidden)
        worker.step(step, {"forward": 0.1})
    worker.observation("label-histogram", "labels", 99, {"0": 6000, "1": 60}, value=6060)
    worker.flush()
    assert bool(judged(job.end()).episodes) == is_found


@pytest.mark.parametrize(("rare", "is_found"), [(2, True), (20, False)])
def test_labels_that_are_not_all_counted_are_judged_by_batches(rare: int, is_found: bool) -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(300):
        if step % 10 == 0:
            counts = {"0": 64 - rare, "1": rare}
            worker.observation("label-batch", "labels", step, counts, value=64)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    assert bool(judged(job.end()).episodes) == is_found


def in_two_trainings(first: Counts, then: Counts, kind: str = "new-optimizer") -> Evaluation:
    """Labels of two trainings of 350 steps each; the second one begins within a histogram."""
    job = FakeJob()
    worker = job.worker()
    mixed = {label: first.get(label, 0) + then.get(label, 0) for label in {**first, **then}}
    for step in range(700):
        if step in (0, 350):
            worker.observation(kind, str(step), step, "")
        if step % 100 == 99:
            count = mixed if step == 399 else first if step < 350 else then
            worker.observation("label-histogram", "labels", step, count, value=sum(count.values()))
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return judged(job.end())


EIGHT, FOUR = {str(label): 20 for label in range(8)}, {str(label): 1200 for label in range(4)}
RARE = {"0": 3000, "1": 150}


@pytest.mark.parametrize("kind", ["new-optimizer", "loss-kind"])
def test_classes_of_a_second_task_are_counted_apart(kind: str) -> None:
    result = in_two_trainings(EIGHT, FOUR, kind)
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


@pytest.mark.parametrize(("first", "then"), [(RARE, RARE), (RARE, FOUR), (FOUR, RARE)])
def test_a_rare_class_of_either_task_is_found(first: Counts, then: Counts) -> None:
    [episode] = in_two_trainings(first, then).episodes
    assert "class 1" in episode.finding.message


def test_few_labels_are_not_enough() -> None:
    result = judged(labelled([{"0": 90, "1": 1}]))
    assert result.reason == "Not enough data: 91 of 500 labels"


def test_a_class_that_is_never_right_is_found() -> None:
    early, later = {"0": [5, 45], "1": [5, 45]}, {"0": [48, 2], "1": [4, 46], "2": [90, 10]}
    hits = [early] * 20 + [later] * 200
    [episode] = judged(predicted(hits)).episodes
    assert episode.finding.subject == "predictions/train"
    assert episode.finding.evidence["classes"] == ["1"]


def test_classes_that_are_learned_one_after_the_other_are_left_alone() -> None:
    untrained = [{"0": [5, 45], "1": [0, 50]}] * 20
    first = [{"0": [49, 1], "1": [5, 45]}] * 50
    both = [{"0": [49, 1], "1": [49, 1]}] * 20
    assert judged(predicted(untrained + first + both)).episodes == ()


def test_no_class_is_told_while_more_and_more_is_right() -> None:
    sections = [{"0": [500, 0], "1": [25 * index, 400 - 25 * index]} for index in range(9)]
    hits = [item for piece in sections for item in [piece] * 60]
    count = {"predictions": lambda step: (900.0, hits[step])}
    job = with_observations("class-hits", count, len(hits), at=range(0, len(hits), 60))
    assert judged(job).episodes == ()


@pytest.mark.parametrize(("optimizers", "is_found"), [(1, True), (4, False)])
def test_what_each_training_does_not_know_at_first_is_no_class_that_is_ignored(
    optimizers: int, is_found: bool
) -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(600):
        round_, index = divmod(step, 150)
        if index == 0:
            worker.observation("new-optimizer", str(round_ % optimizers), step, {})
        if index < 7:  # where an optimizer begins, it is looked at more often
            hits = {"0": [40, 0], "1": [2, 30]}
            worker.observation("class-hits", "predictions", step, hits, value=72)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    assert bool(judged(job.end()).episodes) is is_found


def test_a_network_that_is_there_to_be_fooled_is_left_alone() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(300):
        hits = {"0": [1, 49], "1": [50, 0], "2": [50, 0]}
        worker.observation("class-hits", "predictions", step, hits, value=150)
        worker.scalar("loss/0", step, 0.7).scalar("loss/1", step, 0.7)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    assert judged(job.end()).episodes == ()


def test_classic_is_the_criterion_to_the_letter() -> None:
    assert judged(labelled([{"0": 500, "1": 50}]), setting="classic").triggered == 0
    assert judged(labelled([{"0": 501, "1": 50}]), setting="classic").triggered == 1
    assert judged(labelled([{"0": 450, "1": 4}]), setting="classic").triggered == 0
    hits = [{"0": [29, 71], "1": [30, 70], "2": [300, 0]}]
    result = judged(predicted(hits), setting="classic")
    assert result.triggered == 1
    assert result.episodes[0].finding.evidence["classes"] == ["0"]
