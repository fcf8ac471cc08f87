"""ClassImbalance: planted faults and their healthy twins."""

import numpy as np
import pytest

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob
from tests.fakes.training import with_observations

Counts = dict[str, int]


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("ClassImbalance", **parameters)["ClassImbalance"]


def labeled(counts: list[Counts], tokens: float = 0.0) -> FakeJob:
    """A job with one label count per 100 steps, and a number of tokens per step."""
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


def test_rare_class_is_reported_with_its_name() -> None:
    result = check(labeled([{"0": 3000, "1": 150}] * 4))
    [episode] = result.episodes
    assert "12,000 are of class 0 and 600 of class 1" in episode.finding.message
    assert episode.finding.evidence["ratio"] == pytest.approx(20)


def test_short_job_is_evaluated_at_its_end() -> None:
    assert check(labeled([{"0": 3000, "1": 150}])).episodes


def severity_with(hits: dict[str, dict[str, list[int]]]) -> Severity:
    """Return the severity of a rare class, given right and wrong predictions by mode."""
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
        episode
        for episode in check(job.end()).episodes
        if "are of class" in episode.finding.message
    ]
    return episode.severity


LEARNED, IGNORED = {"0": [90, 5], "1": [5, 0]}, {"0": [95, 0], "1": [1, 4]}


def test_rare_class_that_is_learned_is_info() -> None:
    assert severity_with({"train": LEARNED}) is Severity.INFO


@pytest.mark.parametrize(
    "hits",
    [
        {"train": IGNORED},
        {"train": LEARNED, "eval": IGNORED},  # memorized
        {"train": {"0": [95, 0]}},  # unknown
    ],
)
def test_rare_class_that_may_not_be_learned_is_a_warning(
    hits: dict[str, dict[str, list[int]]],
) -> None:
    assert severity_with(hits) is Severity.WARNING


def drawn(classes: int, samples: int, seed: int) -> Counts:
    labels = np.random.default_rng(seed).integers(0, classes, samples)
    return {str(label): int(count) for label, count in enumerate(np.bincount(labels))}


@pytest.mark.parametrize("seed", range(5))
def test_balanced_classes_with_few_samples_are_not_reported(seed: int) -> None:
    counts = [drawn(100, 600, seed)]
    result = check(labeled(counts))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_sorted_classes_that_are_balanced_overall_are_not_reported() -> None:
    counts = [{"0": 900, "1": 20}, {"0": 20, "1": 900}, {"0": 900, "1": 900}]
    assert check(labeled(counts)).episodes == ()


def test_data_sorted_by_class_is_left_to_unshuffled_data() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(100):
        if step % 10 == 0:
            worker.observation("label-batch", "labels", step, {str(step // 25): 32}, value=32)
        worker.step(step, {"forward": 0.1})
    counts = {"0": 800, "1": 800, "2": 800, "3": 10}
    worker.observation("label-histogram", "labels", 99, counts, value=2410)
    worker.flush()
    assert check(job.end()).episodes == ()


def test_rare_letters_of_a_text_are_not_reported() -> None:
    text = [{"32": 40_000, "101": 20_000, "90": 12}] * 4
    result = check(labeled(text, tokens=640.0))
    assert (result.status, result.episodes) == (RuleStatus.NOT_APPLICABLE, ())
    assert check(labeled([{"0": 3000, "1": 150}] * 4, tokens=640.0)).episodes


def test_rare_pixel_classes_of_an_image_are_not_reported() -> None:
    job = FakeJob()
    worker = job.worker().add_tensor("input_0", "inputs")  # two samples
    for step in range(100):
        if step in (0, 1, 2):
            worker.statistics("input_0", step, [0.0, 1.0])
            worker.observation("label-batch", "labels", step, {"0": 120, "1": 8}, value=128)
        worker.step(step, {"forward": 0.1})
    worker.observation("label-histogram", "labels", 99, {"0": 12000, "1": 800}, value=12800)
    worker.flush()
    result = check(job.end())
    assert (result.status, result.episodes) == (RuleStatus.NOT_APPLICABLE, ())


@pytest.mark.parametrize(("spread", "is_reported"), [(0, True), (9, False)])
def test_masked_tokens_vary_in_number_and_are_not_reported(spread: int, is_reported: bool) -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(100):
        if step % 10 == 0:
            hidden = 64 + (7 * step // 10) % (spread + 1)
            worker.observation("label-batch", "labels", step, {"0": hidden}, value=hidden)
        worker.step(step, {"forward": 0.1})
    worker.observation("label-histogram", "labels", 99, {"0": 6000, "1": 60}, value=6060)
    worker.flush()
    assert bool(check(job.end()).episodes) == is_reported


@pytest.mark.parametrize(("rare", "is_reported"), [(2, True), (20, False)])
def test_uncounted_labels_are_evaluated_from_inspected_batches(
    rare: int, is_reported: bool
) -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(300):
        if step % 10 == 0:
            counts = {"0": 64 - rare, "1": rare}
            worker.observation("label-batch", "labels", step, counts, value=64)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    assert bool(check(job.end()).episodes) == is_reported


def train_twice(first: Counts, then: Counts, kind: str = "new-optimizer") -> Evaluation:
    """Train twice for 350 steps; the second training starts within a histogram."""
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
    return check(job.end())


EIGHT, FOUR = {str(label): 20 for label in range(8)}, {str(label): 1200 for label in range(4)}
RARE = {"0": 3000, "1": 150}


@pytest.mark.parametrize("kind", ["new-optimizer", "loss-kind"])
def test_classes_of_a_second_task_are_counted_separately(kind: str) -> None:
    result = train_twice(EIGHT, FOUR, kind)
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


@pytest.mark.parametrize(("first", "then"), [(RARE, RARE), (RARE, FOUR), (FOUR, RARE)])
def test_rare_class_of_either_task_is_reported(first: Counts, then: Counts) -> None:
    [episode] = train_twice(first, then).episodes
    assert "class 1" in episode.finding.message


def test_few_labels_are_not_enough_data() -> None:
    result = check(labeled([{"0": 90, "1": 1}]))
    assert result.reason == "Not enough data: 91 of 500 labels"


def test_class_that_is_mostly_predicted_wrong_is_reported() -> None:
    early, later = {"0": [5, 45], "1": [5, 45]}, {"0": [48, 2], "1": [4, 46], "2": [90, 10]}
    hits = [early] * 20 + [later] * 200
    [episode] = check(predicted(hits)).episodes
    assert episode.finding.subject == "predictions/train"
    assert episode.finding.evidence["classes"] == ["1"]


def test_classes_learned_one_after_the_other_are_not_reported() -> None:
    untrained = [{"0": [5, 45], "1": [0, 50]}] * 20
    first = [{"0": [49, 1], "1": [5, 45]}] * 50
    both = [{"0": [49, 1], "1": [49, 1]}] * 20
    assert check(predicted(untrained + first + both)).episodes == ()


def test_no_class_is_reported_while_accuracy_rises() -> None:
    blocks = [{"0": [500, 0], "1": [25 * index, 400 - 25 * index]} for index in range(9)]
    hits = [item for block in blocks for item in [block] * 60]
    count = {"predictions": lambda step: (900.0, hits[step])}
    job = with_observations("class-hits", count, len(hits), at=range(0, len(hits), 60))
    assert check(job).episodes == ()


@pytest.mark.parametrize(("optimizers", "is_reported"), [(1, True), (4, False)])
def test_early_mispredictions_of_each_training_are_not_reported(
    optimizers: int, is_reported: bool
) -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(600):
        round_, index = divmod(step, 150)
        if index == 0:
            worker.observation("new-optimizer", str(round_ % optimizers), step, {})
        if index < 7:  # inspections are more frequent after an optimizer starts
            hits = {"0": [40, 0], "1": [2, 30]}
            worker.observation("class-hits", "predictions", step, hits, value=72)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    assert bool(check(job.end()).episodes) is is_reported


def test_discriminator_of_a_gan_is_not_reported() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(300):
        hits = {"0": [1, 49], "1": [50, 0], "2": [50, 0]}
        worker.observation("class-hits", "predictions", step, hits, value=150)
        worker.scalar("loss/0", step, 0.7).scalar("loss/1", step, 0.7)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    assert check(job.end()).episodes == ()


def test_classic_setting_follows_the_documented_criterion() -> None:
    assert check(labeled([{"0": 500, "1": 50}]), setting="classic").triggered == 0
    assert check(labeled([{"0": 501, "1": 50}]), setting="classic").triggered == 1
    assert check(labeled([{"0": 450, "1": 4}]), setting="classic").triggered == 0
    hits = [{"0": [29, 71], "1": [30, 70], "2": [300, 0]}]
    result = check(predicted(hits), setting="classic")
    assert result.triggered == 1
    assert result.episodes[0].finding.evidence["classes"] == ["0"]
