"""The ranked answer: findings with a predicted gain, merged by cause, the largest gain first."""

from sonde.records.advice import Basis, Bottleneck, Gain, Improvement, Remedy, SpeedLimit
from sonde.records.finding import Episode, Evaluation, Finding, RuleStatus, Setting, Severity
from sonde.records.seen import Seen
from sonde.results.advice import advice_on, gain_text


def gain(speedup: float, low: float | None = None, high: float | None = None) -> Gain:
    return Gain(speedup, low or speedup, high or speedup, Basis.MEASURED, "it was timed")


def episode(
    rule: str,
    speedup: float | None = None,
    bottleneck: Bottleneck = Bottleneck.HOST,
    *,
    cause: str | None = None,
    is_open: bool = True,
) -> Episode:
    remedies = () if speedup is None else (Remedy(f"fix {rule}", "code", gain(speedup)),)
    improvement = None if speedup is None else Improvement(bottleneck, remedies, ("train.py:3",))
    message = f"{rule} is so."
    finding = Finding(rule, Severity.WARNING, message, cause=cause, improvement=improvement)
    return Episode(rule, finding, 0, 10, 1, is_open=is_open)


def evaluation(rule: str, *episodes: Episode, limit: SpeedLimit | None = None) -> Evaluation:
    status = RuleStatus.ISSUES_FOUND if episodes else RuleStatus.NO_ISSUES_FOUND
    return Evaluation(
        rule,
        Setting.CALIBRATED,
        status,
        {},
        episodes=episodes,
        summary={} if limit is None else limit.summary(),
    )


def test_the_largest_predicted_gain_comes_first() -> None:
    small = evaluation("A", episode("A", 1.2, Bottleneck.OUTPUT))
    large = evaluation("B", episode("B", 2.5, Bottleneck.DATA))
    advice = advice_on([small, large])
    assert [item.rule for item in advice.items] == ["B", "A"]
    assert advice.sentence == "B is so. Expected: fix B 2.5× faster."


def test_findings_that_share_a_bottleneck_are_one_item() -> None:
    first = evaluation("A", episode("A", 1.2), episode("A2", 1.1))
    [item] = advice_on([first, evaluation("B", episode("B", 1.5))]).items
    assert (item.rule, item.rules) == ("B", ("A", "A2"))
    assert [remedy.title for remedy in item.remedies] == ["fix B", "fix A", "fix A2"]
    assert item.places == ("train.py:3",)


def test_a_cause_and_its_consequences_are_one_item_led_by_the_largest_gain() -> None:
    cause = episode("Starved", 2.0, Bottleneck.DATA)
    effect = episode("LowUse", cause="Starved")
    other = episode("Crowded", 1.2, Bottleneck.CORES)
    hot = episode("Hot", 1.5, Bottleneck.PYTHON, cause="Starved")
    evaluations = [evaluation(each.id, each) for each in (effect, hot, cause, other)]
    first, second = advice_on(evaluations).items
    assert (first.rule, first.rules) == ("Starved", ("Hot", "LowUse"))
    assert first.bottleneck is Bottleneck.DATA
    assert second.rule == "Crowded"


def test_resolved_findings_and_negligible_gains_give_no_advice() -> None:
    over = evaluation("A", episode("A", 2.0, is_open=False))
    tiny = evaluation("B", episode("B", 1.01))
    assert advice_on([over, tiny]).items == ()


def test_a_job_at_its_limit_is_told_how_close_it_is() -> None:
    limit = SpeedLimit(97.0, "GPU 0 computes 97% of the time of each step.")
    advice = advice_on([evaluation("A", limit=limit)])
    assert advice.sentence == (
        "No change with a predictable speed-up found. GPU 0 computes 97% of the time of each step."
    )


def test_a_job_without_training_or_rules_says_so() -> None:
    unseen = Seen("", inside=False)
    assert "No training steps recorded" in advice_on([evaluation("A")], unseen).sentence
    assert "No rules were run" in advice_on([]).sentence


def test_missing_data_is_listed_with_the_rules_that_need_it() -> None:
    lacking = Evaluation(
        "LaunchBound",
        Setting.CALIBRATED,
        RuleStatus.NOT_ENOUGH_DATA,
        {},
        summary={"predicts_gains": True},
        reason="no GPU operations were profiled",
    )
    advice = advice_on([lacking])
    assert advice.sentence == "Not enough data for advice."
    assert advice.details == ("Not evaluated (no GPU operations were profiled): LaunchBound",)


def test_predictions_are_written_with_their_uncertainty() -> None:
    assert gain_text(gain(2.3)) == "2.3× faster"
    assert gain_text(gain(2.0, 1.5, 2.3)) == "1.5× to 2.3× faster"
    assert gain_text(gain(2.0, 1.0, 2.3)) == "up to 2.3× faster"
