"""Run a program with short steps, alternating with and without the hook in one process.

`python -m benchmarks.small_training PROGRAM FILE [--seconds S]`, with or without `sonde run`.
"""

import argparse
import gc
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks import gpu_programs
from benchmarks.hook_blocks import Switch, current_session, no_switch, session_switch
from benchmarks.small_programs import PROGRAMS, Program

is_cuda_in_use: Callable[[], bool] = torch.cuda.is_initialized
_PROGRAMS: dict[str, Program] = {**PROGRAMS, **gpu_programs.PROGRAMS}
_BLOCK_SECONDS = 0.2  # short, because other load changes within seconds
_DEVICE_BLOCK_SECONDS = 0.5  # on a GPU, whose queue is empty at the start of a block
_WARM_UP_SECONDS = 6.0


@dataclass(frozen=True, slots=True)
class SmallBlock:
    """Consecutive units of a program, all with the hook or all without."""

    is_hooked: bool
    units: int
    wall_seconds: float
    cpu_seconds: float  # training thread
    thread_seconds: float  # CPU time, all other threads


class HookSwitch:
    """Removes all hooks and replaced functions from the process, and restores them.

    The clock of the session is stopped meanwhile, so that no budget accumulates.
    """

    def __init__(self) -> None:
        self.session = current_session()
        self._restores: list[Callable[[], None]] = []
        self._since_ns = self._since_cpu_ns = 0

    def __call__(self, is_on: bool) -> None:
        """Install or remove the hooks."""
        clock = self.session.clock
        if is_on and self._restores:
            while self._restores:
                self._restores.pop()()
            clock.anchor_ns -= clock.now_ns() - self._since_ns
            self._exclude(time.thread_time_ns() - self._since_cpu_ns)
        elif not is_on and not self._restores:
            self._since_ns, self._since_cpu_ns = clock.now_ns(), time.thread_time_ns()
            for remove in self._removals():
                self._restores.append(remove())

    def _exclude(self, cpu_ns: int) -> None:
        """Exclude CPU time from the comparison of steps with and without hooks."""
        cost = getattr(
            self.session.frameworks.adapters["torch"].modules.deferred.rest,
            "_cost",
            None,
        )
        if cost is not None:
            since = _private(cost, "_since")
            vars(cost)["_since"] = since._replace(cpu_ns=since.cpu_ns + cpu_ns)

    def _removals(self) -> Iterator[Callable[[], Callable[[], None]]]:
        for adapter in self.session.frameworks.adapters.values():
            for owner, name, original, replacement in reversed(
                _private(adapter, "_patches", "_replaced")
            ):
                yield _Replaced(owner, name, original, replacement).remove
        torch_adapter = self.session.frameworks.adapters["torch"]
        for owner in (torch_adapter.loop.updates, torch_adapter.modules.hooks):
            for handle in _private(owner, "_handles"):
                yield _Hook(handle).remove


@dataclass(frozen=True)
class _Replaced:
    owner: Any
    name: str
    original: Any
    replacement: Any

    def remove(self) -> Callable[[], None]:
        is_ours = vars(self.owner).get(self.name) is self.replacement
        if is_ours and type(self.original) is object:  # inherited
            delattr(self.owner, self.name)
        elif is_ours:
            setattr(self.owner, self.name, self.original)
        return self._restore if is_ours else _nothing

    def _restore(self) -> None:
        setattr(self.owner, self.name, self.replacement)


@dataclass(frozen=True)
class _Hook:
    handle: Any

    def remove(self) -> Callable[[], None]:
        hooks = self.handle.hooks_dict_ref()
        key = self.handle.id
        if hooks is None or key not in hooks:
            return _nothing
        extras = [extra for ref in self.handle.extra_dict_ref if (extra := ref()) and key in extra]
        hook = hooks.pop(key)
        for extra in extras:
            del extra[key]

        def restore() -> None:
            hooks[key] = hook
            for extra in extras:
                extra[key] = True

        return restore


# compiled code would be compiled again if functions were replaced
_SWITCHES: dict[str, Callable[[], Switch]] = {"remove": HookSwitch, "pause": session_switch}


def _private(owner: Any, *names: str) -> Any:
    for name in names:
        owner = getattr(owner, name)
    return owner


def _nothing() -> None:
    """Do nothing: there was nothing to remove."""


class Blocks:
    """Divides units into blocks and switches the hook between them."""

    def __init__(
        self, seconds: float, make_switch: Callable[[], Switch], block_seconds: float
    ) -> None:
        self._until = 0.0
        self._seconds = seconds
        self._block_seconds = block_seconds
        self._make_switch = make_switch
        self._switch: Switch = no_switch
        self._warm_units, self._warm_from = 0, 0.0
        self._units = self._remaining = 0
        self._is_on = True
        self._start: tuple[float, float, float] = (0.0, 0.0, 0.0)
        self.blocks: list[SmallBlock] = []
        self.accounts: list[tuple[float, float, float]] = []

    def tick(self) -> bool:
        """Count a unit; return True when the measurement is complete."""
        if not self._units:
            self._warm_up()
            return False
        self._remaining -= 1
        if self._remaining == 0:
            self._end_block()
        elif self._remaining == self._units:
            self._start = _times()  # excludes the first unit after a switch
        return self._remaining < 0

    def _warm_up(self) -> None:
        now = time.thread_time()
        self._warm_from = self._warm_from or now
        if now >= self._warm_from + _WARM_UP_SECONDS / 2:
            self._warm_units += 1
        if now >= self._warm_from + _WARM_UP_SECONDS:
            self._begin()

    def _begin(self) -> None:
        per_second = self._warm_units / (_WARM_UP_SECONDS / 2)
        self._units = max(2, round(per_second * self._block_seconds))
        self._switch = self._make_switch()
        self._account()
        self._until = time.perf_counter() + self._seconds
        gc.collect()
        self._remaining = self._units + 1

    def _end_block(self) -> None:
        wall, cpu, everything = (
            end - start for end, start in zip(_times(), self._start, strict=True)
        )
        self.blocks.append(SmallBlock(self._is_on, self._units, wall, cpu, everything - cpu))
        is_pair = len(self.blocks) % 2 == 0
        if is_pair and time.perf_counter() >= self._until:
            self._switch(True)
            self._account()
            self._remaining = -1
            return
        if not is_pair:  # on, off; off, on; on, off
            self._is_on = not self._is_on
            self._switch(self._is_on)
        self._remaining = self._units + 1

    def _account(self) -> None:
        if self._switch is no_switch:
            return
        session = current_session()
        budget = session.overhead.budget
        training = getattr(session, "training_seconds", budget.training_seconds)
        self.accounts.append((budget.hook_seconds, budget.thread_seconds, training))


def _times() -> tuple[float, float, float]:
    if is_cuda_in_use():
        torch.cuda.synchronize()
    return time.perf_counter(), time.thread_time(), time.process_time()


def main() -> None:
    """Train and save the blocks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=_PROGRAMS)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--units", type=int, help="train for this number of units, without blocks")
    parser.add_argument("--switch", choices=_SWITCHES, help="disable Sonde in every other block")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(3)
    is_on_gpu = options.program in gpu_programs.PROGRAMS
    if options.units is not None:
        document = _train(options.program, options.units)
    else:
        make_switch = _SWITCHES[options.switch] if options.switch else lambda: no_switch
        block_seconds = _DEVICE_BLOCK_SECONDS if is_on_gpu else _BLOCK_SECONDS
        blocks = Blocks(options.seconds, make_switch, block_seconds)
        _PROGRAMS[options.program](blocks.tick)
        document = {"blocks": [asdict(block) for block in blocks.blocks]}
        document["accounts"] = blocks.accounts
    options.file.write_text(json.dumps(document), encoding="utf-8")


def _train(program: str, units: int) -> dict[str, Any]:
    """Measure a job of a few seconds from the first unit to the last."""
    done = 0
    starts: list[tuple[float, float, float]] = []

    def tick() -> bool:
        nonlocal done
        done += 1
        return done >= units

    starts.append(_times())
    _PROGRAMS[program](tick)
    ends = _times()
    wall, cpu, everything = (end - start for end, start in zip(ends, starts[0], strict=True))
    return {"wall_seconds": wall, "cpu_seconds": cpu, "process_seconds": everything}


if __name__ == "__main__":
    main()
