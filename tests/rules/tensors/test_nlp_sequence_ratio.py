"""NLPSequenceRatio: planted faults and their healthy twins."""

import pytest

from sonde.errors import UsageError
from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob
from tests.fakes.training import with_observations

WORDS = {"5": 40, "7": 30, "9": 20}


def check(job: FakeJob, **parameters: object) -> Evaluation:
    return job.job().check("NLPSequenceRatio", **parameters)["NLPSequenceRatio"]


def padded(padding: int, tokens: int = 512, words: dict[str, int] | None = None) -> FakeJob:
    counts = {"counts": {"0": padding, **(WORDS if words is None else words)}}
    return with_observations("input-tokens", {"input_0": lambda _: (float(tokens), counts)}, 60)


def test_mostly_padding_is_reported() -> None:
    [episode] = check(padded(400)).episodes
    assert episode.finding.message == "78% of input_0 is token 0."
    assert episode.is_open


def test_healthy_sequences_are_not_reported() -> None:
    for padding in (0, 100, 250):
        result = check(padded(padding))
        assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_rule_does_not_apply_to_binary_inputs() -> None:
    result = check(padded(300, words={"1": 212}))
    assert (result.status, result.episodes) == (RuleStatus.NOT_APPLICABLE, ())


def test_frequent_token_of_a_small_vocabulary_is_info() -> None:
    squares = {"1": 40, "2": 20, "6": 10, "7": 40, "12": 10}  # a board game, mostly empty squares
    [hint] = check(padded(392, words=squares)).episodes
    assert hint.severity is Severity.INFO
    [named] = check(padded(392, words=squares), token_values=(0,)).episodes
    assert named.severity is Severity.WARNING


def test_padding_with_a_few_large_token_ids_is_reported() -> None:
    [episode] = check(padded(500, words={"71": 7, "72": 5})).episodes
    assert episode.finding.subject == "input_0/0"


@pytest.mark.parametrize("padding", [0, 200])
def test_frequent_token_other_than_zero_is_reported(padding: int) -> None:
    words = {"1": round(0.8 * (512 - padding)), "57": 20, "9": 12}
    [episode] = check(padded(padding, words=words)).episodes
    assert episode.finding.subject == "input_0/1"


@pytest.mark.parametrize("words", [{"1": 300, "57": 100, "9": 112}, {"1": 150, "2": 100, "3": 262}])
def test_common_word_is_not_reported(words: dict[str, int]) -> None:
    assert check(padded(0, words=words)).episodes == ()


def test_only_explicit_token_values_are_checked() -> None:
    job = padded(0, words={"1": 500, "57": 12})
    assert check(job, token_values=(5,), token_thresholds_percent=(50,)).episodes == ()


def test_few_tokens_are_not_enough_data() -> None:
    result = check(padded(8, tokens=10))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA


def test_each_token_value_has_its_threshold() -> None:
    tokens = {"token_values": (0, 5), "token_thresholds_percent": (90, 5)}
    [episode] = check(padded(400), **tokens).episodes
    assert episode.finding.subject == "input_0/5"


def test_token_values_without_thresholds_are_an_error() -> None:
    with pytest.raises(UsageError, match="token_values has 2 entries"):
        check(padded(400), token_values=(0, 5))


@pytest.mark.parametrize(("padding", "triggered"), [(50, 0), (51, 4)])
def test_classic_setting_follows_the_documented_criterion(padding: int, triggered: int) -> None:
    counts = {"counts": {"0": padding, "1": 100 - padding}}
    count = {"input_0": lambda _: (100.0, counts)}
    job = with_observations("input-tokens", count, 4, at=range(4))
    assert check(job, setting="classic").triggered == triggered
