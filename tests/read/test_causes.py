"""Findings are linked to the findings that caused them."""

from dataclasses import replace
from itertools import permutations

from sonde.read.causes import link_causes
from sonde.records.finding import Episode, Evaluation, Finding, RuleStatus, Setting, Severity

SECOND = 1_000_000_000


def episode(rule: str, first: int, last: int, **more: object) -> Episode:
    """Return an episode between two seconds; each step takes a second."""
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
    """Return the cause of each rule's only episode."""
    linked = link_causes(evaluations)
    return {episode.rule: episode.episodes[0].finding.cause for episode in linked}


def test_a_finding_names_its_cause() -> None:
    root = evaluation(episode("NonFiniteInput", 90, 100), "ExplodingTensor")
    consequence = evaluation(episode("ExplodingTensor", 90, 300))
    assert causes(root, consequence) == {
        "NonFiniteInput": None,
        "ExplodingTensor": "NonFiniteInput",
    }


def test_the_order_of_rules_does_not_matter() -> None:
    every = [
        evaluation(episode("A", 0, 50), "B", "C"),
        evaluation(episode("B", 10, 60), "C"),
        evaluation(episode("C", 20, 70)),
    ]
    assert {tuple(sorted(causes(*some).items(), key=str)) for some in permutations(every)} == {
        (("A", None), ("B", "A"), ("C", "A"))
    }


def test_a_finding_long_before_is_not_a_cause() -> None:
    root = evaluation(episode("NonFiniteInput", 0, 10), "ExplodingTensor")
    assert (
        causes(root, evaluation(episode("ExplodingTensor", 1000, 1100)))["ExplodingTensor"] is None
    )


def test_an_ongoing_finding_can_cause_later_ones() -> None:
    root = evaluation(episode("NonFiniteInput", 0, 10, is_open=True), "ExplodingTensor")
    assert (
        causes(root, evaluation(episode("ExplodingTensor", 1000, 1100)))["ExplodingTensor"]
        == "NonFiniteInput"
    )


def test_a_finding_about_another_worker_is_not_a_cause() -> None:
    root = evaluation(episode("DataLoaderStarvation", 0, 90, worker=1), "LowGPUUtilization")
    consequence = episode("LowGPUUtilization", 0, 90, worker=0)
    assert causes(root, evaluation(consequence))["LowGPUUtilization"] is None
    everybody = replace(consequence, finding=replace(consequence.finding, worker=None))
    assert causes(root, evaluation(everybody))["LowGPUUtilization"] == "DataLoaderStarvation"


def test_causes_never_form_a_cycle() -> None:
    linked = causes(evaluation(episode("A", 0, 50), "B"), evaluation(episode("B", 10, 60), "A"))
    assert sorted(linked.values(), key=str) in (["A", None], ["B", None])


def test_a_cause_set_by_a_rule_is_kept() -> None:
    root = evaluation(episode("A", 0, 50), "B")
    assert causes(root, evaluation(episode("B", 10, 60, cause="the driver")))["B"] == "the driver"


def test_findings_without_steps_are_linked_by_time() -> None:
    root = evaluation(episode("DataLoaderStarvation", 100, 200), "LowGPUUtilization")
    near = evaluation(episode("LowGPUUtilization", 230, 260, has_steps=False))
    far = evaluation(episode("LowGPUUtilization", 330, 360, has_steps=False))
    assert causes(root, near)["LowGPUUtilization"] == "DataLoaderStarvation"
    assert causes(root, far)["LowGPUUtilization"] is None


def test_a_finding_that_starts_later_is_not_a_cause() -> None:
    lasting = evaluation(episode("ExplodingTensor", 500, 2000, is_open=True))
    later = evaluation(episode("NonFiniteInput", 580, 590, is_open=True), "ExplodingTensor")
    assert causes(later, lasting)["ExplodingTensor"] is None
    over = evaluation(episode("ExplodingTensor", 500, 510))
    after_it = evaluation(episode("NonFiniteInput", 520, 530), "ExplodingTensor")
    assert causes(after_it, over)["ExplodingTensor"] is None


def test_a_cause_may_appear_to_start_one_window_late() -> None:
    lasting = evaluation(episode("ThroughputDrop", 500, 900))
    root = evaluation(episode("DataLoaderStarvation", 540, 900), "ThroughputDrop")
    assert causes(root, lasting)["ThroughputDrop"] == "DataLoaderStarvation"


def test_a_cause_of_a_finding_without_steps_must_start_before_it() -> None:
    lasting = evaluation(episode("LowGPUUtilization", 100, 900, has_steps=False))
    in_time = evaluation(episode("DataLoaderStarvation", 200, 900), "LowGPUUtilization")
    late = evaluation(episode("DataLoaderStarvation", 300, 900), "LowGPUUtilization")
    assert causes(in_time, lasting)["LowGPUUtilization"] == "DataLoaderStarvation"
    assert causes(late, lasting)["LowGPUUtilization"] is None
