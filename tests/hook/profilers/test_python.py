import contextlib
import cProfile
import pstats
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from sonde.clock import SystemClock
from sonde.guard import Guard
from sonde.hook.profilers import _python_calls, _python_stacks, _python_tree
from sonde.hook.profilers._python_calls import CallCounter
from sonde.hook.profilers._python_slices import slices
from sonde.hook.profilers._python_stacks import StackSampler
from sonde.records.python_profile import Function, PythonProfile, PythonProfiler, PythonTimer

Amount = tuple[int, int]  # count, nanoseconds


def leaf() -> int:
    return sum(range(30))


def numbers() -> Iterator[int]:
    for _ in range(3):
        yield leaf()


def recurse(depth: int) -> int:
    return recurse(depth - 1) if depth else leaf()


def work() -> None:
    for _ in range(50):
        leaf()
    list(numbers())
    recurse(4)
    with contextlib.suppress(ValueError):
        int("not a number")


def by_function(profile: PythonProfile) -> dict[str, Amount]:
    amounts: dict[str, Amount] = {}
    for node, count, ns in zip(profile.row_nodes, profile.row_counts, profile.row_ns, strict=True):
        name = profile.functions[profile.node_functions[node]].name
        before = amounts.get(name, (0, 0))
        amounts[name] = (before[0] + count, before[1] + ns)
    return amounts


def counted(
    function: Callable[[], object], timer: PythonTimer = PythonTimer.TOTAL
) -> PythonProfile:
    guard = Guard()
    counter = CallCounter(SystemClock(), guard, timer)
    counter.start()
    function()
    assert counter.end()
    assert not guard.failed
    return counter.profile()


def test_call_counts_match_cprofile() -> None:
    profile = cProfile.Profile()
    profile.runcall(work)
    theirs: Counter[str] = Counter()
    for (_, _, name), (_, calls, *_) in vars(pstats.Stats(profile))["stats"].items():
        theirs[name] += calls
    ours = by_function(counted(work))
    for name in ("work", "leaf", "numbers", "recurse"):
        assert ours[name][0] == theirs[name], name
    assert ours["sum"][0] == theirs["<built-in method builtins.sum>"]


def test_calls_of_other_threads_are_not_counted() -> None:
    def work_elsewhere() -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    assert "leaf" not in by_function(counted(work_elsewhere))
    assert "leaf" in by_function(counted(work))


class ManualClocks:
    """Wall clock and CPU clock, advanced by the test."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.wall_ns = self.cpu_ns = 0
        timers = {"ticks_ns": lambda: self.wall_ns, "thread_cpu_ns": lambda: self.cpu_ns}
        for name, timer in timers.items():
            patch.setattr(_python_calls, name, timer)
        patch.setitem(_python_calls._TIMERS, PythonTimer.TOTAL, timers["ticks_ns"])
        patch.setitem(_python_calls._TIMERS, PythonTimer.CPU, timers["thread_cpu_ns"])

    def wait(self) -> None:
        self.wall_ns += 50

    def compute(self) -> None:
        self.wall_ns += 7
        self.cpu_ns += 7

    def both(self) -> None:
        self.wait()
        self.compute()


@pytest.mark.parametrize(
    ("timer", "waiting_ns", "computing_ns"),
    [(PythonTimer.TOTAL, 50, 7), (PythonTimer.CPU, 0, 7), (PythonTimer.OFF_CPU, 50, 0)],
)
def test_timers_separate_cpu_time_from_waiting(
    timer: PythonTimer, waiting_ns: int, computing_ns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = ManualClocks(monkeypatch)
    amounts = by_function(counted(clocks.both, timer))
    assert amounts["ManualClocks.wait"] == (1, waiting_ns)
    assert amounts["ManualClocks.compute"] == (1, computing_ns)
    assert amounts["ManualClocks.both"] == (1, 0)


def test_profiler_started_by_the_script_stays_active() -> None:
    def script_profiler(*_: object) -> None:
        """The script's profile function."""

    counter = CallCounter(SystemClock(), Guard(), PythonTimer.TOTAL)
    counter.start()
    sys.setprofile(script_profiler)
    try:
        assert not counter.end()
        assert sys.getprofile() is script_profiler
    finally:
        sys.setprofile(None)


def test_forked_child_stops_counting_calls() -> None:
    counter = CallCounter(SystemClock(), Guard(), PythonTimer.TOTAL)
    counter.start()
    _python_calls.stop_in_child()
    assert sys.getprofile() is None
    counter.end()


def test_number_of_call_rows_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_python_calls, "_MAX_ROWS", 5)
    clock = SystemClock()

    def work() -> None:
        for _ in range(50):
            leaf()
            clock.now_ns()  # ends the segment: a phase may begin or end in Sonde's code

    profile = counted(work)
    assert profile.is_cut
    assert 5 <= len(profile.row_nodes) < 20


def test_calls_beyond_the_tree_limit_count_for_their_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    max_nodes = len(counted(leaf).parents) - 2  # without `leaf` and its callee
    monkeypatch.setattr(_python_tree, "_MAX_NODES", max_nodes + 1)
    profile = counted(work)
    amounts = by_function(profile)
    assert profile.is_cut
    assert amounts["work"][0] == 1
    assert "leaf" not in amounts


class BlockedThread:
    """A thread that is blocked in a function until the `with` block ends."""

    def __init__(self) -> None:
        self.has_started, self._may_end = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.helper, name="blocked")

    def helper(self) -> None:
        self.has_started.set()
        self._may_end.wait()

    def __enter__(self) -> "BlockedThread":
        self.thread.start()
        self.has_started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._may_end.set()
        self.thread.join()


def take_samples(count: int, every_ns: int = 1_000_000) -> PythonProfile:
    sampler = StackSampler(SystemClock(), Guard(), every_ns)
    for tick in range(count):
        sampler.sample(sampler.start_ns + (tick + 1) * every_ns, every_ns)
    return sampler.profile()


def stack_of(profile: PythonProfile, thread: str) -> list[tuple[Function, int]]:
    number = profile.threads.index(thread)
    [node] = {
        node
        for node, row_thread in zip(profile.row_nodes, profile.row_threads, strict=True)
        if row_thread == number
    }
    stack = []
    while node >= 0:
        stack.append((profile.functions[profile.node_functions[node]], profile.node_lines[node]))
        node = profile.parents[node]
    return stack


def test_sample_has_function_file_and_line_of_every_thread() -> None:
    with BlockedThread():
        profile = take_samples(3)
    stack = stack_of(profile, "blocked")
    [(function, line)] = [entry for entry in stack if entry[0].name == "BlockedThread.helper"]
    first = BlockedThread.helper.__code__.co_firstlineno
    assert (function.file, function.line, line) == (__file__, first, first + 2)
    assert stack[-1][0].name == "Thread._bootstrap"


def test_blocked_thread_takes_one_row() -> None:
    with BlockedThread():
        profile = take_samples(100)
    rows = [number for number in profile.row_threads if profile.threads[number] == "blocked"]
    assert rows == [1]
    assert profile.row_counts[profile.row_threads.index(1)] == 100


def test_frames_of_sonde_are_excluded() -> None:
    profile = take_samples(3)
    assert 0 not in profile.row_threads  # this thread runs the sampler
    assert profile.own_ns == 3_000_000


def test_sampling_slows_down_as_samples_accumulate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_python_stacks, "_MAX_SAMPLES", 8)
    frames = {threading.get_ident(): sys._getframe()}  # without threads of other tests
    monkeypatch.setattr(_python_stacks, "_current_frames", lambda: frames)
    sampler = StackSampler(SystemClock(), Guard(), 1000)
    pauses = []
    for tick in range(7):
        sampler.sample(tick, 1)
        pauses.append(sampler.interval_ns)
    assert pauses == [1000, 1000, 1000, 1000, 2000, 2000, 4000]


def test_sampler_runs_until_it_is_ended() -> None:
    guard = Guard()
    sampler = StackSampler(SystemClock(), guard, 100_000)
    with BlockedThread() as blocked:
        sampler.start()
        while sampler.samples < 20:
            blocked.has_started.wait()
    sampler.end()
    profile = sampler.profile()
    assert not guard.failed
    assert len(profile.times_ns) >= 20
    assert "blocked" in profile.threads
    assert list(profile.times_ns) == sorted(profile.times_ns)


def test_frame_in_consecutive_samples_is_one_call_on_the_timeline() -> None:
    functions = (Function("main", "a.py", 1), Function("load", "a.py", 9), Function("sum"))
    profile = PythonProfile(
        profiler=PythonProfiler.STACKS,
        timer=PythonTimer.TOTAL,
        start_ns=100,
        end_ns=150,
        functions=functions,
        parents=(-1, 0, 0, 2),
        node_functions=(0, 1, 1, 2),  # two lines of one function
        node_lines=(2, 10, 11, 11),
        threads=("training",),
        times_ns=(110, 120, 130, 140, 150),
        row_times=(0, 1, 3, 4),
        row_threads=(0, 0, 0, 0),
        row_nodes=(1, 2, 3, 0),
        row_counts=(1, 2, 1, 1),
    )
    calls = [(row[0], row[2], *row[4:7]) for row in slices(profile)]
    assert calls == [
        ("sum", "python", 130, 10, 10),
        ("load", "python", 100, 40, 30),
        ("main", "python", 100, 50, 10),
    ]


@pytest.mark.parametrize("chosen", [None, 0.002], ids=["ours", "the script's"])
def test_switch_interval_is_reduced_while_sampling(chosen: float | None) -> None:
    before = sys.getswitchinterval()
    sampler = StackSampler(SystemClock(), Guard(), 1_000_000)
    sampler.start()
    try:
        assert sys.getswitchinterval() < before
        if chosen is not None:
            sys.setswitchinterval(chosen)
        sampler.end()
        assert sys.getswitchinterval() == pytest.approx(chosen or before)
        sampler.profile()
    finally:
        sys.setswitchinterval(before)
