"""The order of findings and the verdict in one sentence."""

from sonde.records.finding import Episode, Evaluation, Finding, RuleStatus, Setting, Severity
from sonde.results.rule_verdict import root_first, verdict


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
