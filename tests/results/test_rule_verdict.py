"""The order of findings and the verdict in one sentence."""

from dataclasses import replace

from sonde.read.findings import episode_document
from sonde.records.advice import Basis, Bottleneck, Gain, Improvement, Remedy
from sonde.records.finding import Episode, Evaluation, Finding, RuleStatus, Setting, Severity
from sonde.results.rule_verdict import documents_root_first, root_first, verdict


def episode(
    rule: str,
    severity: Severity = Severity.WARNING,
    first: int = 0,
    cause: str | None = None,
    **evidence: float,
) -> Episode:
    finding = Finding(rule, severity, f"{rule} is so.", cause=cause, evidence=evidence)
    return Episode(rule, finding, first, first + 10, 1)


def evaluation(rule: str, *episodes: Episode) -> Evaluation:
    status = RuleStatus.ISSUES_FOUND if episodes else RuleStatus.NO_ISSUES_FOUND
    return Evaluation(rule, Setting.CALIBRATED, status, {}, episodes=episodes)


def rules(episodes: tuple[Episode, ...]) -> list[str]:
    return [each.finding.rule for each in episodes]


def test_a_consequence_follows_its_cause_even_if_it_is_worse_and_earlier() -> None:
    result = root_first(
        [
            episode("ExplodingTensor", Severity.CRITICAL, first=0, cause="NonFiniteInput"),
            episode("StepOutlier", Severity.WARNING, first=1),
            episode("NonFiniteInput", Severity.WARNING, first=5),
        ]
    )
    assert rules(result) == ["NonFiniteInput", "ExplodingTensor", "StepOutlier"]


def test_findings_are_sorted_by_severity_and_then_by_time() -> None:
    result = root_first(
        [
            episode("C", Severity.INFO, first=0),
            episode("B", Severity.WARNING, first=7),
            episode("A", Severity.WARNING, first=3),
            episode("D", Severity.CRITICAL, first=9),
        ]
    )
    assert rules(result) == ["D", "A", "B", "C"]


def test_unknown_cause_hides_no_finding() -> None:
    assert rules(root_first([episode("A", cause="gone")])) == ["A"]


def test_verdict_names_root_cause_consequences_cost_and_remaining_findings() -> None:
    starved = episode("DataLoaderStarvation", seconds_per_step_to_win=0.12)
    idle = episode("LowGPUUtilization", cause=starved.id, first=3, gpu_hours_lost=3.2)
    second = episode("StepOutlier", Severity.INFO)
    judged = [evaluation("a", second), evaluation("b", idle), evaluation("c", starved)]
    assert verdict(judged) == (
        "DataLoaderStarvation: DataLoaderStarvation is so (explains LowGPUUtilization; "
        "about 3.2 GPU-hours lost, up to 120 ms per step can be saved; 1 more finding)"
    )


def test_verdict_without_findings_reports_rule_coverage() -> None:
    assert verdict([evaluation("a"), evaluation("b")]) == "No issues found."
    assert verdict([]) == "No rules were run."


def test_equally_severe_causes_are_sorted_by_what_they_cost() -> None:
    slow, slower = episode("Slow", first=1), episode("Slower", first=2)
    resolved = replace(episode("Resolved", first=0), is_open=False)

    def costing(finding: Episode, speedup: float) -> Episode:
        remedy = Remedy("do it", gain=Gain(speedup, speedup, speedup, Basis.MEASURED, ""))
        improvement = Improvement(Bottleneck.DATA, (remedy,))
        return replace(finding, finding=replace(finding.finding, improvement=improvement))

    episodes = [costing(slow, 1.2), costing(slower, 2.0), resolved, episode("Free", first=0)]
    result = root_first(episodes)
    assert rules(result) == ["Slower", "Slow", "Free", "Resolved"]
    # a consequence lends its cost to its cause
    caused = costing(episode("Idle", first=3, cause="Free"), 3.0)
    assert rules(root_first([*episodes, caused]))[:3] == ["Free", "Idle", "Slower"]


def test_documents_have_the_same_order_as_episodes() -> None:
    remedy = Remedy("do it", gain=Gain(2.0, 2.0, 2.0, Basis.MEASURED, ""))
    costly = episode("Costly", first=9)
    finding = replace(costly.finding, improvement=Improvement(Bottleneck.DATA, (remedy,)))
    episodes = [
        episode("Critical", Severity.CRITICAL, first=8),
        episode("Effect", first=1, cause="Costly"),
        episode("Early", first=0),
        replace(episode("Over", first=0), is_open=False),
        replace(costly, finding=finding),
    ]
    documents = documents_root_first(map(episode_document, episodes))
    assert [each["rule"] for each in documents] == rules(root_first(episodes))
    assert [each["rule"] for each in documents] == ["Critical", "Costly", "Effect", "Early", "Over"]
