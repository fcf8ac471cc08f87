"""Findings that explain each other are linked, whoever found what first."""

from dataclasses import replace
from itertools import permutations

from sonde.read.causes import link_causes
from sonde.records.finding import Episode, Evaluation, Finding, RuleStatus, Setting, Severity

SECOND = 1_000_000_000


def episode(rule: str, first: int, last: int, **more: object) -> Episode:
    """Held from one second to another; steps are a second each."""
    about = {name: more.pop(name) for name in ("node", "worker", "cause") if name in more}
    finding = Finding(rule, Severity.WARNING, f"{rule} is so", **about)  # type: ignore[arg-type]
    steps = {"first_step": first, "last_step": last} if more.pop("has_steps", True) else {}
    is_open = bool(more.pop("is_open", False))
    return Episode(rule, finding, first * SECOND, last * SECOND, 1, is_open, **steps)


def evaluation(episode: Episode, *explains: str) -> Evaluation:
    return Evaluation(
        episode.finding.rule,
        Setting.CALIBRATED,
        RuleStatus.ISSUES_FOUND,
        {},
        episodes=(episode,),
        explains=explains,
    )


def causes(*evaluations: Evaluation) -> dict[str, str | None]:
    """Of every rule's only episode."""
    linked = link_causes(evaluations)
    return {episode.rule: episode.episodes[0].finding.cause for episode in linked}


def test_a_finding_names_the_one_that_explains_it() -> None:
    root = evaluation(episode("NonFiniteInput", 90, 100), "ExplodingTensor")
    consequence = evaluation(episode("ExplodingTensor", 90, 300))
    assert causes(root, consequence) == {
        "NonFiniteInput": None,
        "ExplodingTensor": "NonFiniteInput",
    }


def test_the_order_in_which_rules_are_asked_does_not_matter() -> None:
    every = [
        evaluation(episode("A", 0, 50), "B", "C"),
        evaluation(episode("B", 10, 60), "C"),
        evaluation(episode("C", 20, 70)),
    ]
    assert {tuple(sorted(causes(*some).items(), key=str)) for some in permutations(every)} == {
        (("A", None), ("B", "A"), ("C", "A"))
    }


def test_what_happened_long_before_explains_nothing() -> None:
    root = evaluation(episode("NonFiniteInput", 0, 10), "ExplodingTensor")
    assert (
        causes(root, evaluation(episode("ExplodingTensor", 1000, 1100)))["ExplodingTensor"] is None
    )


def test_what_still_goes_on_explains_what_comes_later() -> None:
    root = evaluation(episode("NonFiniteInput", 0, 10, is_open=True), "ExplodingTensor")
    assert (
        causes(root, evaluation(episode("ExplodingTensor", 1000, 1100)))["ExplodingTensor"]
        == "NonFiniteInput"
    )


def test_another_worker_is_not_to_blame() -> None:
    root = evaluation(episode("DataLoaderStarvation", 0, 90, worker=1), "LowGPUUtilization")
    consequence = episode("LowGPUUtilization", 0, 90, worker=0)
    assert causes(root, evaluation(consequence))["LowGPUUtilization"] is None
    everybody = replace(consequence, finding=replace(consequence.finding, worker=None))
    assert causes(root, evaluation(everybody))["LowGPUUtilization"] == "DataLoaderStarvation"


def test_two_that_explain_each_other_make_no_circle() -> None:
    linked = causes(evaluation(episode("A", 0, 50), "B"), evaluation(episode("B", 10, 60), "A"))
    assert sorted(linked.values(), key=str) in (["A", None], ["B", None])


def test_a_cause_that_the_rule_named_itself_stays() -> None:
    root = evaluation(episode("A", 0, 50), "B")
    assert causes(root, evaluation(episode("B", 10, 60, cause="the driver")))["B"] == "the driver"


def test_without_steps_time_decides() -> None:
    root = evaluation(episode("DataLoaderStarvation", 100, 200), "LowGPUUtilization")
    near = evaluation(episode("LowGPUUtilization", 230, 260, has_steps=False))
    far = evaluation(episode("LowGPUUtilization", 330, 360, has_steps=False))
    assert causes(root, near)["LowGPUUtilization"] == "DataLoaderStarvation"
    assert causes(root, far)["LowGPUUtilization"] is None


def test_what_begins_after_its_consequence_is_no_cause() -> None:
    lasting = evaluation(episode("ExplodingTensor", 500, 2000, is_open=True))
    later = evaluation(episode("NonFiniteInput", 580, 590, is_open=True), "ExplodingTensor")
    assert causes(later, lasting)["ExplodingTensor"] is None
    over = evaluation(episode("ExplodingTensor", 500, 510))
    after_it = evaluation(episode("NonFiniteInput", 520, 530), "ExplodingTensor")
    assert causes(after_it, over)["ExplodingTensor"] is None


def test_a_cause_may_seem_to_begin_a_window_later_than_what_it_explains() -> None:
    lasting = evaluation(episode("ThroughputDrop", 500, 900))
    root = evaluation(episode("DataLoaderStarvation", 540, 900), "ThroughputDrop")
    assert causes(root, lasting)["ThroughputDrop"] == "DataLoaderStarvation"


def test_of_what_has_no_steps_a_cause_has_begun_by_then() -> None:
    lasting = evaluation(episode("LowGPUUtilization", 100, 900, has_steps=False))
    in_time = evaluation(episode("DataLoaderStarvation", 200, 900), "LowGPUUtilization")
    late = evaluation(episode("DataLoaderStarvation", 300, 900), "LowGPUUtilization")
    assert causes(in_time, lasting)["LowGPUUtilization"] == "DataLoaderStarvation"
    assert causes(late, lasting)["LowGPUUtilization"] is None
