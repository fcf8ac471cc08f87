"""HotFunction: jobs with the fault and similar healthy jobs."""

from sonde.records.finding import Evaluation, RuleStatus, Severity
from tests.fakes.job import FakeJob
from tests.fakes.python_profile import FakeProfile, Stack

TORCH = "/env/lib/python3.11/site-packages/torch"
MAIN = ("<module>", "/home/user/train.py", 90)
LOOP = ("train", "/home/user/train.py", 40)
MODEL = ("_call_impl", f"{TORCH}/nn/modules/module.py", 1700)
FORWARD = ("forward", "/home/user/model.py", 12)
AUGMENT = ("augment", "/home/user/data.py", 7)
PIXEL = ("pixel", "/home/user/data.py", 21)
LOADER = ("__next__", f"{TORCH}/utils/data/dataloader.py", 700)
NUMPY = ("sum", "/env/lib/python3.11/site-packages/numpy/core/fromnumeric.py", 100)

COMPUTING: Stack = (MAIN, LOOP, MODEL, FORWARD)


def evaluate(job: FakeJob) -> Evaluation:
    return job.job().check("HotFunction")["HotFunction"]


def profiled(*stacks: tuple[Stack, int], steps: int = 3) -> FakeJob:
    """A job with profiled steps from step 9: the same stacks in each, with milliseconds."""
    job = FakeJob()
    worker = job.worker()
    for step in range(9):
        worker.step(step, {"forward": 0.1})
    profile = FakeProfile(worker, first_step=9)
    for _ in range(steps):
        for stack, milliseconds in stacks:
            profile.add_samples(stack, milliseconds)
    seconds = sum(milliseconds for _, milliseconds in stacks) / 1e3
    for step in range(9, 9 + steps):
        worker.step(step, {"forward": seconds}, profiled="python")
    profile.write()
    for step in range(9 + steps, 40):
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def test_a_function_of_the_script_is_named_with_its_line() -> None:
    [episode] = evaluate(profiled((COMPUTING, 30), ((MAIN, LOOP, AUGMENT), 70))).episodes
    finding = episode.finding
    assert finding.message.startswith("augment (user/data.py:7) takes 70% of each step (70 ms)")
    assert (finding.severity, finding.worker) == (Severity.WARNING, 0)
    assert (episode.first_step, episode.last_step) == (9, 11)


def test_the_innermost_function_includes_the_time_of_its_calls() -> None:
    stack = (MAIN, LOOP, AUGMENT, PIXEL, NUMPY)
    [episode] = evaluate(profiled((COMPUTING, 55), (stack, 45))).episodes
    assert episode.finding.evidence["function"] == "pixel"
    assert episode.severity is Severity.INFO


def test_loading_in_the_training_process_counts() -> None:
    stack = (MAIN, LOOP, LOADER, AUGMENT)
    [episode] = evaluate(profiled((COMPUTING, 50), (stack, 50))).episodes
    assert episode.finding.evidence["function"] == "augment"


def test_training_itself_is_healthy() -> None:
    result = evaluate(profiled((COMPUTING, 60), ((MAIN, LOOP), 40)))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_waiting_for_a_loader_is_not_reported() -> None:
    assert evaluate(profiled((COMPUTING, 30), ((MAIN, LOOP, LOADER), 70))).episodes == ()


def test_a_small_share_is_healthy() -> None:
    assert evaluate(profiled((COMPUTING, 80), ((MAIN, LOOP, AUGMENT), 20))).episodes == ()


def test_few_profile_samples_are_not_enough() -> None:
    result = evaluate(profiled((COMPUTING, 1), ((MAIN, LOOP, AUGMENT), 2)))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert (
        result.reason
        == "Not enough data: 9 of 10 profile samples. To get more: `sonde profile JOB`"
    )


def test_a_job_without_a_profile_is_not_applicable() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(60):
        worker.step(step, {"forward": 0.1})
    worker.flush()
    result = evaluate(job.end())
    assert (result.status, result.reason) == (
        RuleStatus.NOT_APPLICABLE,
        "no Python profile was recorded",
    )


def test_a_function_with_little_lost_time_is_info() -> None:
    [episode] = evaluate(profiled((COMPUTING, 2), ((MAIN, LOOP, AUGMENT), 4), steps=12)).episodes
    assert episode.severity is Severity.INFO
    assert evaluate(profiled((COMPUTING, 1), ((MAIN, LOOP, AUGMENT), 1), steps=30)).episodes == ()
