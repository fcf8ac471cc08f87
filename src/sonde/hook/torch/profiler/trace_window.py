"""A window recorded by PyTorch's profiler, stored as a trace and a file with its facts.

The trace is stored compressed as PyTorch wrote it. The facts, written last, contain the steps and
the anchors that align the trace's clock with Sonde's.
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
from sonde.formats import format_bytes, format_duration
from sonde.hook.frameworks.torch import PyTorch
from sonde.hook.session import Session
from sonde.hook.torch.loop.device_phases import device_in_use
from sonde.hook.torch.profiler.annotations import Annotations
from sonde.hook.torch.profiler.kineto import Kineto, Recorded, TraceOptions
from sonde.hook.torch.profiler.other_profilers import no_window
from sonde.records.notice import NoticeKind
from sonde.records.profile import ProfileKind, Window
from sonde.store import layout

ANCHOR = "sonde.anchor."

_TRIES = 3  # anchors at each end of a window; the fastest is the most accurate
_MAX_SECONDS = 10.0
# Autograd nodes. Each corresponds to about 20 CPU events; PyTorch processes this many events in a
# few seconds and writes a trace of about 150 MB.
_MAX_NODES = 20_000
_MAX_BYTES = 1024 * 1024 * 1024
_MAX_WAIT_SECONDS = 5.0
_CHUNK_BYTES = 1024 * 1024
_GZIP_WBITS = 31
_FILE = "trace.json"
_PLAN = Window(ProfileKind.OPERATORS).by
_SCRIPT_PROFILES = "the script uses PyTorch's profiler"
_IN_BACKWARD = "steps end inside a backward pass, where PyTorch's profiler cannot start or stop"
_STILL_OPEN = "the previous window has not ended yet"
_node_count = getattr(torch.autograd, "_get_sequence_nr", lambda: 0)


@dataclass(slots=True)
class _OpenWindow:
    """The open window."""

    window: Window
    rank: int
    step: int  # first step
    device: str
    start_ns: int
    nodes: int
    anchors: list[tuple[str, int]] = field(default_factory=list)
    end_ns: int = 0
    must_yield: bool = False  # the script's profiler is waiting
    recorded: Recorded | None = None


class TraceWindow:
    """Records windows of one kind, one at a time."""

    def __init__(self, session: Session, kind: ProfileKind) -> None:
        self._session = session
        self._kind = kind
        self._task = f"{kind.value} profiler"
        adapter = session.frameworks.adapters["torch"]
        assert isinstance(adapter, PyTorch)
        self._other_profilers = adapter.other_profilers
        self._kineto = Kineto(self._other_profilers)
        self._annotations = Annotations(session, adapter.names, self._should_continue)
        self._kineto.on_fork = self._annotations.remove
        self._guarded_yield = session.guard.shield(self._task, self._yield_profiler, None)
        self._open: _OpenWindow | None = None
        # facts of a window that could not end yet
        self._late_facts: Mapping[str, Any] | None = None
        session.listeners.on_end(self._end_late)
        self._count = 0  # windows so far

    def begin(self, window: Window, *, with_modules: bool = True, **options: bool) -> str | None:
        """Start recording; return the reason if that is impossible.

        Args:
            window: The requested window.
            with_modules: Whether to annotate module calls with their names.
            **options: Fields of `TraceOptions`.
        """
        session = self._session
        assert session.store.info is not None
        if window.by == _PLAN and self._other_profilers.are_used:
            return _SCRIPT_PROFILES  # Kineto may print messages when it is used again
        if _is_in_backward():
            return _IN_BACKWARD
        if self._late_facts is not None:
            return _STILL_OPEN
        _warm_up()
        self._open = _OpenWindow(
            window,
            rank=session.store.info.rank,
            step=session.steps.counts["train"],
            device=device_in_use(),
            start_ns=session.clock.now_ns(),
            nodes=_node_count(),
        )
        with self._other_profilers.lock:
            refusal = self._kineto.start(TraceOptions(**options))
            if refusal is not None:
                self._open = None
                return refusal
            self._other_profilers.yield_profiler = self._guarded_yield
        self._anchor()
        if with_modules:
            self._annotations.put()
        return None

    def end(self, facts: Mapping[str, Any]) -> str | None:
        """Stop recording and store the trace with its facts.

        Returns the key without suffix, or None if nothing was stored. Inside a backward pass, where
        PyTorch's profiler cannot stop, the window ends at the next module call.
        """
        if _is_in_backward() and self._kineto.is_on:
            self._late_facts = facts
            return None
        self._stop()
        window, self._open = self._open, None
        if window is None or window.recorded is None:
            return None
        folder = self._write(window)
        if folder is None:
            return None
        key, all_facts = self._key(window), {**_facts(window), **facts}
        self._session.worker_thread.submit(self._task, lambda: self._store(folder, key, all_facts))
        return key

    def _end_late(self) -> None:
        facts, self._late_facts = self._late_facts, None
        if facts is not None:
            self.end(facts)

    def _write(self, window: _OpenWindow) -> "TemporaryDirectory[str] | None":
        """Have PyTorch write the trace, which holds the GIL until it is done.

        Done in the training thread, this counts as cost of the window; in the worker thread it
        would slow down an arbitrary later step.
        """
        recorded, window.recorded = window.recorded, None
        assert recorded is not None
        try:
            folder = TemporaryDirectory(prefix="sonde-", ignore_cleanup_errors=True)
            path = Path(folder.name, _FILE)
            recorded.save(str(path))
            size = path.stat().st_size
        except OSError as error:
            self._report(window, f"the trace could not be written: {error}")
            return None
        if size <= _MAX_BYTES:
            return folder
        folder.cleanup()
        self._report(window, f"the trace is larger than {format_bytes(_MAX_BYTES)}")
        return None

    def _stop(self) -> None:
        """Stop an active recording; called in the recorded thread."""
        window = self._open
        if window is None or not self._kineto.is_on:
            return
        self._annotations.remove()
        self._anchor()
        window.end_ns = self._session.clock.now_ns()
        with self._other_profilers.lock:
            window.recorded = self._kineto.stop()
            self._other_profilers.yield_profiler = no_window

    def _anchor(self) -> None:
        """Record a point in time on both clocks."""
        window, now_ns = self._open, self._session.clock.now_ns
        assert window is not None
        first = len(window.anchors) and _TRIES
        attempts = []
        for number in range(first, first + _TRIES):
            name = f"{ANCHOR}{number}"
            before_ns = now_ns()
            with record_function(name):
                pass
            after_ns = now_ns()
            attempts.append((after_ns - before_ns, name, (before_ns + after_ns) // 2))
        window.anchors.append(min(attempts)[1:])

    def _should_continue(self) -> bool:
        """Whether the window continues; stops one that is too large or must yield."""
        window = self._open
        if window is None or not self._kineto.is_mine:
            return False
        if _is_in_backward():  # activation recomputation
            return True
        if self._late_facts is not None:
            self._end_late()
            return False
        seconds = (self._session.clock.now_ns() - window.start_ns) / NANOSECONDS
        is_small = seconds <= _MAX_SECONDS and _node_count() - window.nodes <= _MAX_NODES
        if is_small and not window.must_yield:
            return True
        self._stop()
        if not is_small:
            self._report(
                window,
                f"recording stopped after {format_duration(seconds)} to limit the trace size",
            )
        return False

    def _yield_profiler(self) -> None:
        """Stop recording because the script starts a profiler."""
        window = self._open
        if window is None or not self._kineto.is_on:
            return
        window.must_yield = True
        if self._kineto.is_mine:
            self._stop()
        # only the recorded thread can stop; it does so at its next module call
        elif not self._kineto.wait(_MAX_WAIT_SECONDS):
            self._kineto.lose()
            self._other_profilers.yield_profiler = no_window
            self._report(window, "the trace was lost because another thread started a profiler")
            return
        self._report(window, "recording stopped early because the script started a profiler")

    def _report(self, window: _OpenWindow, reason: str) -> None:
        what = f"complete {self._kind.value} profile at step {window.step}"
        self._session.store.notice(NoticeKind.NOT_COLLECTED, what, reason)

    def _key(self, window: _OpenWindow) -> str:
        self._count += 1
        token = f"{self._session.store.writer.token}_p{self._count}"
        return layout.profile_key(window.rank, self._kind.value, window.step, token)

    def _store(self, folder: "TemporaryDirectory[str]", key: str, facts: Mapping[str, Any]) -> None:
        """Compress and store the trace; called in the worker thread."""
        with folder:
            trace = _compressed(Path(folder.name, _FILE))
        backend = self._session.store.backend
        backend.write(key + layout.TRACE_SUFFIX, trace)
        backend.write(key + layout.TRACE_FACTS_SUFFIX, json.dumps(facts).encode())
        self._session.store.add_value_bytes(len(trace))


def _is_in_backward() -> bool:
    """Whether a backward pass is running; starting or stopping there would crash the process."""
    return _current_graph_task_id() != -1


def _facts(window: _OpenWindow) -> dict[str, Any]:
    request = asdict(window.window)
    extent = {
        "first_step": window.step,
        "start_ns": window.start_ns,
        "end_ns": window.end_ns,
    }
    return {
        "anchors": window.anchors,
        "keep_trace": False,
        "window": {**request, **extent},
        "rank": window.rank,
        "device": window.device,
    }


def _compressed(path: Path) -> bytes:
    packer = zlib.compressobj(1, wbits=_GZIP_WBITS)
    with path.open("rb") as file:
        chunks = [packer.compress(chunk) for chunk in iter(lambda: file.read(_CHUNK_BYTES), b"")]
    return b"".join([*chunks, packer.flush()])


def _warm_up() -> None:
    """Make the first annotation of the process, which is about 1,000 times as slow as others."""
    with record_function("sonde"):
        pass
