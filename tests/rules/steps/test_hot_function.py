"""HotFunction: planted faults and their healthy twins."""

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


def judged(job: FakeJob) -> Evaluation:
    return job.job().check("HotFunction")["HotFunction"]


def profiled(*open_faults: tuple[Stack, int], steps: int = 3) -> FakeJob:
    """A job whose steps 9 to 11 are profiled: in each the same stacks, for so many milliseconds."""
    job = FakeJob()
    worker = job.worker()
    for step in range(9):
        worker.step(step, {"forward": 0.1})
    profile = FakeProfile(worker, first_step=9)
    for _ in range(steps):
        for stack, item in open_faults:
            profile.add_samples(stack, item)
    seconds = sum(inspections for _, inspections in open_faults) / 1e3
    for step in range(9, 9 + steps):
        worker.step(step, {"forward": seconds}, profiled="python")
    profile.write()
    for step in range(9 + steps, 40):
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def test_a_function_of_the_script_is_named_with_its_line() -> None:
    [episode] = judged(profiled((COMPUTING, 30), ((MAIN, LOOP, AUGMENT), 70))).episodes
    finding = episode.finding
    assert finding.message.startswith("augment (user/data.py:7) takes 70% of each step (70 ms)")
    assert (finding.severity, finding.worker) == (Severity.WARNING, 0)
    assert (episode.first_step, episode.last_step) == (9, 11)


def test_the_innermost_one_is_named_with_what_it_calls() -> None:
    stack = (MAIN, LOOP, AUGMENT, PIXEL, NUMPY)
    [episode] = judged(profiled((COMPUTING, 55), (stack, 45))).episodes
    assert episode.finding.evidence["function"] == "pixel"
    assert episode.severity is Severity.INFO


def test_what_a_loader_calls_in_the_training_process_counts() -> None:
    stack = (MAIN, LOOP, LOADER, AUGMENT)
    [episode] = judged(profiled((COMPUTING, 50), (stack, 50))).episodes
    assert episode.finding.evidence["function"] == "augment"


def test_training_itself_is_healthy() -> None:
    result = judged(profiled((COMPUTING, 60), ((MAIN, LOOP), 40)))
    assert (result.status, result.episodes) == (RuleStatus.NO_ISSUES_FOUND, ())


def test_waiting_for_a_loader_is_another_rules() -> None:
    assert judged(profiled((COMPUTING, 30), ((MAIN, LOOP, LOADER), 70))).episodes == ()


def test_a_small_share_is_healthy() -> None:
    assert judged(profiled((COMPUTING, 80), ((MAIN, LOOP, AUGMENT), 20))).episodes == ()


def test_a_few_looks_are_not_enough() -> None:
    result = judged(profiled((COMPUTING, 1), ((MAIN, LOOP, AUGMENT), 2)))
    assert result.status is RuleStatus.NOT_ENOUGH_DATA
    assert result.reason == "Not enough data: 9 of 10 profile samples"


def test_a_job_without_a_profile_is_told_so() -> None:
    job = FakeJob()
    worker = job.worker()
    for step in range(60):
        worker.step(step, {"forward": 0.1})
    worker.flush()
    result = judged(job.end())
    assert (result.status, result.reason) == (
        RuleStatus.NOT_APPLICABLE,
        "no Python profile was recorded",
    )


def test_a_short_function_is_told_and_nobody_is_warned() -> None:
    [episode] = judged(profiled((COMPUTING, 2), ((MAIN, LOOP, AUGMENT), 4), steps=12)).episodes
    assert episode.severity is Severity.INFO
    assert judged(profiled((COMPUTING, 1), ((MAIN, LOOP, AUGMENT), 1), steps=30)).episodes == ()
