"""NLPSequenceRatio: planted faults and their healthy twins."""

import pytest

from sonde.errors import UsageError
from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob
from tests.fakes.training import with_observations

WORDS = {"5": 40, "7": 30, "9": 20}


def judged(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("NLPSequenceRatio", **parameters)["NLPSequenceRatio"]


def padded(padding: int, tokens: int = 512, words: dict[str, int] | None = None) -> FakeJob:
    counts = {"counts": {"0": padding, **(WORDS if words is None else words)}}
    return with_observations("input-tokens", {"input_0": lambda _: (float(tokens), counts)}, 60)


def test_mostly_padding_is_found() -> None:
    [episode] = judged(padded(400)).episodes
    assert episode.finding.message == "78% of input_0 is token 0."
    assert episode.is_open


def test_healthy_sequences_are_left_alone() -> None:
    for padding in (0, 100, 250):
        result = judged(padded(padding))
        assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_zeros_and_ones_are_no_words() -> None:
    result = judged(padded(300, words={"1": 212}))
    assert (result.status, result.episodes) == (RuleStatus.NOT_APPLICABLE, ())


def test_most_of_a_small_vocabulary_may_be_one_token() -> None:
    squares = {"1": 40, "2": 20, "6": 10, "7": 40, "12": 10}  # of a board, mostly empty
    [hint] = judged(padded(392, words=squares)).episodes
    assert hint.severity is Severity.INFO
    [named] = judged(padded(392, words=squares), token_values=(0,)).episodes
    assert named.severity is Severity.WARNING


def test_hardly_any_word_of_a_large_vocabulary_is_known() -> None:
    [episode] = judged(padded(500, words={"71": 7, "72": 5})).episodes
    assert episode.finding.subject == "input_0/0"


@pytest.mark.parametrize("padding", [0, 200])
def test_an_unknown_word_with_another_number_is_found(padding: int) -> None:
    words = {"1": round(0.8 * (512 - padding)), "57": 20, "9": 12}
    [episode] = judged(padded(padding, words=words)).episodes
    assert episode.finding.subject == "input_0/1"


@pytest.mark.parametrize("words", [{"1": 300, "57": 100, "9": 112}, {"1": 150, "2": 100, "3": 262}])
def test_a_frequent_word_is_left_alone(words: dict[str, int]) -> None:
    assert judged(padded(0, words=words)).episodes == ()


def test_tokens_that_were_named_are_the_only_ones() -> None:
    job = padded(0, words={"1": 500, "57": 12})
    assert judged(job, token_values=(5,), token_thresholds_percent=(50,)).episodes == ()


def test_few_tokens_are_not_enough() -> None:
    result = judged(padded(8, tokens=10))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA


def test_several_tokens_have_a_threshold_each() -> None:
    tokens = {"token_values": (0, 5), "token_thresholds_percent": (90, 5)}
    [episode] = judged(padded(400), **tokens).episodes
    assert episode.finding.subject == "input_0/5"


def test_values_without_thresholds_are_told_before_anything_is_asked() -> None:
    with pytest.raises(UsageError, match="token_values has 2 entries"):
        judged(padded(400), token_values=(0, 5))


@pytest.mark.parametrize(("padding", "triggered"), [(50, 0), (51, 4)])
def test_classic_is_the_criterion_to_the_letter(padding: int, triggered: int) -> None:
    counts = {"counts": {"0": padding, "1": 100 - padding}}
    count = {"input_0": lambda _: (100.0, counts)}
    job = with_observations("input-tokens", count, 4, at=range(4))
    assert judged(job, setting="classic").triggered == triggered
