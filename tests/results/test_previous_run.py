"""The speed of a run compared with the previous run of its script."""

from sonde.records.job_summary import JobSummary, LaunchFacts, ListedJob, Outcome
from sonde.results.previous_run import PreviousRuns


def run(name: str, start: str, step_seconds: float | None, workers: int = 1) -> ListedJob:
    outcome = Outcome("completed", start)
    launch = LaunchFacts(script="/code/train.py", workers=workers)
    return ListedJob(name, JobSummary(outcome, launch, step_seconds=step_seconds))


def test_a_run_is_compared_with_the_last_earlier_run_of_its_script_on_as_many_workers() -> None:
    first, second = run("a", "2026-01", 0.100), run("b", "2026-02", 0.104)
    slow, large = run("c", "2026-04", 0.125), run("d", "2026-03", 0.5, workers=8)
    runs = PreviousRuns([slow, large, second, first])
    change = runs.change_of(slow)
    assert change is not None
    assert change.text == "20% slower than b"
    assert runs.change_of(second) is None  # 4% is usual noise
    assert runs.change_of(first) is None
    assert runs.change_of(large) is None


def test_runs_without_steps_are_not_compared() -> None:
    idle = run("idle", "2026-02", None)
    runs = PreviousRuns([run("a", "2026-01", 0.1), idle, fast := run("c", "2026-03", 0.05)])
    assert runs.change_of(idle) is None
    change = runs.change_of(fast)
    assert change is not None
    assert change.text == "50% faster than a"
