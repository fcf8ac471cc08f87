"""Why did it die: exit code, signal, out of memory, or because it was told to stop."""

import signal
from dataclasses import dataclass

from sonde.collect.system import Machine
from sonde.collect.system._cgroups import oom_kills
from sonde.records.job import Exit, ExitReason, JobState

COMMAND_NOT_FOUND = 127
COMMAND_NOT_EXECUTABLE = 126


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known when a command has ended."""

    code: int  # minus the signal that killed it
    end_ns: int
    stopped_by: str | None = None  # who asked for it, if anybody did
    left_running: tuple[str, ...] = ()


class MemoryKills:
    """Counts the kernel's out-of-memory kills from now on."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._before = oom_kills(machine)

    def since(self) -> dict[str, int]:
        """How many there were since, by who counts them: the kernel, the control group."""
        now = oom_kills(self._machine)
        grown = {name: count - self._before.get(name, count) for name, count in now.items()}
        return {name: count for name, count in grown.items() if count > 0}


def explain(ending: Ending, memory_kills: dict[str, int], problem: str | None = None) -> Exit:
    """The exit as it is recorded."""
    number = -ending.code if ending.code < 0 else None
    name = signal.Signals(number).name if number in set(signal.Signals) else number
    state, reason, message = _judge(ending, memory_kills, str(name) if number else None)
    message = problem or message
    return Exit(
        state=state,
        reason=reason,
        end_ns=ending.end_ns,
        code=shell_code(ending.code),
        signal=None if number is None else str(name),
        message=message,
        left_running=ending.left_running,
    )


def _judge(
    ending: Ending, memory_kills: dict[str, int], signal_name: str | None
) -> tuple[JobState, ExitReason, str | None]:
    if ending.stopped_by is not None:
        return JobState.STOPPED, ExitReason.STOPPED, f"stopped by {ending.stopped_by}"
    if ending.code == 0:
        return JobState.COMPLETED, ExitReason.EXIT, None
    kills = ", ".join(f"{count} counted by the {name}" for name, count in memory_kills.items())
    was_killed = ending.code in (-signal.SIGKILL, 128 + signal.SIGKILL)
    if was_killed and memory_kills:
        message = f"killed because memory ran out (out-of-memory kills: {kills})"
        return JobState.FAILED, ExitReason.HOST_OUT_OF_MEMORY, message
    hint = f"; memory ran out meanwhile (out-of-memory kills: {kills})" if memory_kills else ""
    if signal_name is not None:
        return JobState.FAILED, ExitReason.SIGNAL, f"killed by {signal_name}{hint}"
    return JobState.FAILED, ExitReason.EXIT, f"exit code {ending.code}{hint}"


def shell_code(code: int) -> int:
    """The exit code as a shell gives it: 128 + n for a death by signal n."""
    return 128 - code if code < 0 else code
