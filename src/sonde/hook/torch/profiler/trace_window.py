"""A window in which PyTorch's own profiler records: from the first step to two blobs in the store.

The trace as PyTorch wrote it, compressed, and beside it, written last, the facts that are needed to
read it: on which steps, and what the trace's clock showed at known moments of ours.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch._C import _current_graph_task_id
from torch.autograd.profiler import record_function

from sonde.clock import NANOSECONDS
from sonde.hook.frameworks.torch import PyTorch
from sonde.hook.session import Session
from sonde.hook.torch.loop.device_phases import device_in_use
from sonde.hook.torch.profiler.annotations import Annotations
from sonde.hook.torch.profiler.kineto import Kineto, Recorded, Wanted
from sonde.hook.torch.profiler.other_profilers import nobody
from sonde.records.notice import NoticeKind
from sonde.records.profile import ProfileKind, Window
from sonde.store import layout

ANCHOR = "sonde.anchor."

_TRIES = 3  # at each end of a window: the quickest of them is the truest
_MOST_SECONDS = 10.0
# Steps of autograd; each stands for about twenty events of a trace on a processor. So many events
# are read by PyTorch itself in a few seconds, and make a trace of 150 MB.
_MOST_NODES = 20_000
_MOST_BYTES = 1024 * 1024 * 1024
_PATIENCE_SECONDS = 5.0
_CHUNK_BYTES = 1024 * 1024
_GZIP = 31  # how zlib calls it
_FILE = "trace.json"
_PLAN = Window(ProfileKind.OPERATORS).by
_KNOWN = "the script profiles itself"
_IN_BACKWARD = "its steps end inside a backward pass, where PyTorch's profiler cannot be switched"
_STILL_OPEN = "the window before it has not ended yet"
_nodes_made = getattr(torch.autograd, "_get_sequence_nr", lambda: 0)


@dataclass(slots=True)
class _Open:
    """The window under way."""

    window: Window
    rank: int
    step: int  # the first
    device: str
    start_ns: int
    nodes: int
    anchors: list[tuple[str, int]] = field(default_factory=list)
    end_ns: int = 0
    is_in_the_way: bool = False  # of the script's own profiler
    recorded: Recorded | None = None


class TraceWindow:
    """Records one window after the other, of one kind."""

    def __init__(self, session: Session, kind: ProfileKind) -> None:
        self._session = session
        self._kind = kind
        self._part = f"profiler of {kind.value}"
        adapter = session.frameworks.adapters["torch"]
        assert isinstance(adapter, PyTorch)
        self._others = adapter.other_profilers
        self._kineto = Kineto(self._others)
        self._annotations = Annotations(session, adapter.names, self._may_go_on)
        self._kineto.on_fork = self._annotations.remove
        self._give_way = session.guard.shield(self._part, self._other_starts, None)
        self._open: _Open | None = None
        self._late: Mapping[str, Any] | None = None  # facts of a window that ends when it can
        session.listeners.on_end(self._end_late)
        self._count = 0  # of windows

    def begin(self, window: Window, *, with_modules: bool = True, **wanted: bool) -> str | None:
        """Records from now on; or the reason why it cannot.

        Args:
            window: What was asked for.
            with_modules: The names of modules are around what they compute.
            wanted: As kineto knows it.
        """
        session = self._session
        assert session.store.info is not None
        if window.by == _PLAN and self._others.were_used:
            return _KNOWN  # and Kineto may print something whenever it is used
        if _is_in_backward():
            return _IN_BACKWARD
        if self._late is not None:
            return _STILL_OPEN
        _touch()
        self._open = _Open(
            window,
            rank=session.store.info.rank,
            step=session.steps.counts["train"],
            device=device_in_use(),
            start_ns=session.clock.now_ns(),
            nodes=_nodes_made(),
        )
        with self._others.turn:
            refusal = self._kineto.start(Wanted(**wanted))
            if refusal is not None:
                self._open = None
                return refusal
            self._others.give_way = self._give_way
        self._anchor()
        if with_modules:
            self._annotations.put()
        return None

    def end(self, facts: Mapping[str, Any]) -> str | None:
        """Records no longer; what was recorded is kept, with what else is known of it.

        Returns where, without a suffix, if there was anything to keep. Inside a backward pass,
        where PyTorch's profiler cannot be switched off, it ends with the next call of a module.
        """
        if _is_in_backward() and self._kineto.is_on:
            self._late = facts
            return None
        self._stop()
        window, self._open = self._open, None
        if window is None or window.recorded is None:
            return None
        folder = self._write(window)
        if folder is None:
            return None
        key, known = self._key(window), {**_facts(window), **facts}
        self._session.worker_thread.hand(self._part, lambda: self._store(folder, key, known))
        return key

    def _end_late(self) -> None:
        facts, self._late = self._late, None
        if facts is not None:
            self.end(facts)

    def _write(self, window: _Open) -> "TemporaryDirectory[str] | None":
        """Has PyTorch write the trace, which lets nobody run Python until it is done.

        Here that is a part of the window's cost; in the backroom it would be one of some step.
        """
        recorded, window.recorded = window.recorded, None
        assert recorded is not None
        try:
            folder = TemporaryDirectory(prefix="sonde-", ignore_cleanup_errors=True)
            path = Path(folder.name, _FILE)
            recorded.save(str(path))
            size = path.stat().st_size
        except OSError as error:
            self._say(window, f"its trace cannot be written: {error}")
            return None
        if size <= _MOST_BYTES:
            return folder
        folder.cleanup()
        self._say(window, f"its trace is larger than {_MOST_BYTES >> 30} GiB")
        return None

    def _stop(self) -> None:
        """Ends the recording, if it is still under way; in the thread that is recorded."""
        window = self._open
        if window is None or not self._kineto.is_on:
            return
        self._annotations.remove()
        self._anchor()
        window.end_ns = self._session.clock.now_ns()
        with self._others.turn:
            window.recorded = self._kineto.stop()
            self._others.give_way = nobody

    def _anchor(self) -> None:
        """A moment that both clocks know."""
        window, now_ns = self._open, self._session.clock.now_ns
        assert window is not None
        first = len(window.anchors) and _TRIES
        tried = []
        for number in range(first, first + _TRIES):
            name = f"{ANCHOR}{number}"
            before_ns = now_ns()
            with record_function(name):
                pass
            after_ns = now_ns()
            tried.append((after_ns - before_ns, name, (before_ns + after_ns) // 2))
        window.anchors.append(min(tried)[1:])

    def _may_go_on(self) -> bool:
        """Ends a window that would become too large, or that somebody waits for."""
        window = self._open
        if window is None or not self._kineto.is_mine:
            return False
        if _is_in_backward():  # something is computed again
            return True
        if self._late is not None:
            self._end_late()
            return False
        seconds = (self._session.clock.now_ns() - window.start_ns) / NANOSECONDS
        is_small = seconds <= _MOST_SECONDS and _nodes_made() - window.nodes <= _MOST_NODES
        if is_small and not window.is_in_the_way:
            return True
        self._stop()
        if not is_small:
            self._say(window, f"it was cut off after {seconds:.1f} s: its trace grew too large")
        return False

    def _other_starts(self) -> None:
        """The script profiles itself from now on."""
        window = self._open
        if window is None or not self._kineto.is_on:
            return
        window.is_in_the_way = True
        if self._kineto.is_mine:
            self._stop()
        # only the thread that is recorded can end it, which it does when it calls a module
        elif not self._kineto.wait(_PATIENCE_SECONDS):
            self._kineto.lose()
            self._others.give_way = nobody
            self._say(window, "it is lost: another thread has begun to profile itself")
            return
        self._say(window, "it ended early: the script has begun to profile itself")

    def _say(self, window: _Open, reason: str) -> None:
        what = f"all of a profile of {self._kind.value} at step {window.step}"
        self._session.store.notice(NoticeKind.NOT_COLLECTED, what, reason)

    def _key(self, window: _Open) -> str:
        self._count += 1
        token = f"{self._session.store.writer.token}_p{self._count}"
        return layout.profile_key(window.rank, self._kind.value, window.step, token)

    def _store(self, folder: "TemporaryDirectory[str]", key: str, facts: Mapping[str, Any]) -> None:
        """Called in the backroom."""
        with folder:
            trace = _compressed(Path(folder.name, _FILE))
        backend = self._session.store.backend
        backend.write(key + layout.TRACE_SUFFIX, trace)
        backend.write(key + layout.TRACE_FACTS_SUFFIX, json.dumps(facts).encode())
        self._session.store.add_value_bytes(len(trace))


def _is_in_backward() -> bool:
    """Switched on or off there, PyTorch's profiler takes the process down."""
    return _current_graph_task_id() != -1


def _facts(window: _Open) -> dict[str, Any]:
    asked = asdict(window.window)
    took = {
        "first_step": window.step,
        "start_ns": window.start_ns,
        "end_ns": window.end_ns,
    }
    return {
        "anchors": window.anchors,
        "keep_trace": False,
        "window": {**asked, **took},
        "rank": window.rank,
        "device": window.device,
    }


def _compressed(path: Path) -> bytes:
    packer = zlib.compressobj(1, wbits=_GZIP)
    with path.open("rb") as file:
        parts = [packer.compress(chunk) for chunk in iter(lambda: file.read(_CHUNK_BYTES), b"")]
    return b"".join([*parts, packer.flush()])


def _touch() -> None:
    """An annotation takes a thousand times as long when it is the first of a process."""
    with record_function("sonde"):
        pass
