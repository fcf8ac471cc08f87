"""Determine why a command ended: exit code, signal, out of memory, or a stop request."""

import signal
from dataclasses import dataclass

from sonde.agent.system import Machine
from sonde.agent.system._cgroups import oom_kills
from sonde.records.job import Exit, ExitReason, JobState
from sonde.records.worker import Failure

COMMAND_NOT_FOUND = 127
COMMAND_NOT_EXECUTABLE = 126


@dataclass(frozen=True, slots=True)
class Ending:
    """The facts about a command that has ended."""

    code: int  # negative for a signal
    end_ns: int
    stopped_by: str | None = None  # who requested the stop, if it was requested
    left_running: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kills:
    """Out-of-memory kills while a command ran: in its own control group, and on the machine."""

    in_group: int | None = None  # None: not counted separately
    anywhere: int = 0

    @property
    def is_likely(self) -> bool:
        """Whether the command was probably killed by one of them.

        The kernel counts the kills of all processes, so its count is used only if there is no
        control group.
        """
        return self.in_group > 0 if self.in_group is not None else self.anywhere > 0

    def __str__(self) -> str:
        if self.in_group:
            return f"out-of-memory kills in the job's control group: {self.in_group}"
        return f"out-of-memory kills on this machine: {self.anywhere}"


class MemoryKills:
    """Counts out-of-memory kills since its creation."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._before = oom_kills(machine)

    def since(self) -> Kills:
        """The number of kills so far."""
        now = oom_kills(self._machine)
        counts = {name: now[name] - self._before[name] for name in now.keys() & self._before.keys()}
        return Kills(counts.get("cgroup"), counts.get("kernel", 0))


def explain(
    ending: Ending, kills: Kills, problem: str | None = None, failure: Failure | None = None
) -> Exit:
    """Return the exit to record.

    Args:
        ending: The facts known to the launcher.
        kills: Out-of-memory kills while the command ran.
        problem: Why the command could not be started.
        failure: The failure that a process of the job recorded.
    """
    name = signal_name(-ending.code) if ending.code < 0 else None
    hint = _memory_hint(kills)
    state, reason, message = _classify(ending, kills, name, failure, hint and f"; {hint}")
    is_other = state is not JobState.FAILED or reason is ExitReason.HOST_OUT_OF_MEMORY
    recorded = None if is_other else failure
    return Exit(
        state=state,
        reason=reason,
        end_ns=ending.end_ns,
        code=shell_code(ending.code),
        signal=name,
        message=problem or message,
        left_running=ending.left_running,
        traceback="\n".join(filter(None, (recorded.traceback, recorded.detail)))
        if recorded
        else None,
        worker=recorded.rank if recorded and recorded.rank >= 0 else None,
        hint="" if is_other else hint,
    )


def _memory_hint(kills: Kills) -> str:
    """That memory ran out, which may be why the command failed; empty if it did not."""
    if kills.in_group or kills.anywhere:
        return f"memory ran out during the job ({kills})"
    return ""


def _classify(
    ending: Ending, kills: Kills, killed_by: str | None, failure: Failure | None, hint: str
) -> tuple[JobState, ExitReason, str | None]:
    stopped_by = ending.stopped_by
    if stopped_by is None and failure is not None and failure.reason is ExitReason.STOPPED:
        stopped_by = failure.message  # the job stopped itself
    if stopped_by is not None:
        return JobState.STOPPED, ExitReason.STOPPED, f"stopped by {stopped_by}"
    if ending.code == 0:
        return JobState.COMPLETED, ExitReason.EXIT, None
    was_killed = ending.code in (-signal.SIGKILL, 128 + signal.SIGKILL)
    if was_killed and kills.is_likely:
        message = f"out of memory: killed by the kernel ({kills})"
        return JobState.FAILED, ExitReason.HOST_OUT_OF_MEMORY, message
    if killed_by is not None:
        is_signal = failure is None or failure.reason is ExitReason.SIGNAL
        detail = "" if failure is None or is_signal else f"; {failure.message}"
        return JobState.FAILED, ExitReason.SIGNAL, f"killed by {killed_by}{detail}{hint}"
    if failure is not None:
        return JobState.FAILED, failure.reason, f"{failure.message}{hint}"
    return JobState.FAILED, ExitReason.EXIT, f"exit code {ending.code}{hint}"


def signal_name(number: int) -> str:
    """Return the name of a signal; real-time signals as kill(1) lists them."""
    if number in set(signal.Signals):
        return signal.Signals(number).name
    return f"SIGRTMIN+{number - signal.SIGRTMIN}" if number > signal.SIGRTMIN else f"SIG{number}"


def code_of_failed_start(error: OSError) -> int:
    """Return the exit code that shells use for a command that cannot be started."""
    is_missing = isinstance(error, FileNotFoundError | NotADirectoryError)
    return COMMAND_NOT_FOUND if is_missing else COMMAND_NOT_EXECUTABLE


def shell_code(code: int) -> int:
    """Return the exit code as shells report it: 128 + N if signal N killed the process."""
    return 128 - code if code < 0 else code
