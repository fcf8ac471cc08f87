"""Waits within a step: data, transfers, checkpoints and collectives."""

import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.session import Session
from sonde.hook.torch.data.loader_iterations import NO_FEED
from sonde.hook.torch.loop.deferred_hooks import DATA_WAIT, DeferredHooks
from sonde.hook.torch.loop.step_counter import LONG_WAIT_NS
from sonde.hook.torch.patching.patches import Patches
from sonde.records.step import Phase

_COLLECTIVES = (
    *("all_gather", "all_gather_into_tensor", "all_gather_object", "all_gather_single"),
    *("all_reduce", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv"),
    *("broadcast", "broadcast_object_list", "gather", "gather_object", "recv", "reduce"),
    *("reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "scatter"),
    *("scatter_object_list", "send"),
)
# Modules, classes in them, and functions that write files for other libraries.
_SAVERS = (
    ("safetensors.torch", "", "serialize_file"),
    ("safetensors.numpy", "", "serialize_file"),
    ("joblib.numpy_pickle", "NumpyPickler", "dump"),
)

Observer = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


class Waits:
    """Times the waits of a step."""

    def __init__(
        self, session: Session, deferred: DeferredHooks, on_batch: Callable[[], None]
    ) -> None:
        self._session = session
        self._deferred = deferred
        self._on_batch = on_batch
        self._span = session.hook("phases", session.steps.span, None)
        self._data_wait = session.hook("data wait", self._record_data_wait, None)
        self._depth = 0
        self._savers: set[tuple[str, str]] = set()  # already wrapped
        self.observer: Observer | None = None  # calls a collective while a profiler observes it

    def attach(self, patches: Patches) -> None:
        """Wrap the functions that make a step wait."""
        patches.wrap(_BaseDataLoaderIter, "__next__", self._wrap_next)
        patches.wrap(torch, "save", lambda original: self.timed(original, Phase.CHECKPOINT))
        patches.wrap(pickle, "dump", lambda original: self.timed(original, Phase.CHECKPOINT))
        self._session.listeners.on_begin(lambda: self._attach_savers(patches))
        if "torch.distributed.checkpoint" in sys.modules:
            self.attach_checkpoints(patches)
        if torch.distributed.is_available():
            for name in _COLLECTIVES:
                patches.wrap(
                    torch.distributed,
                    name,
                    lambda original: self.timed(original, Phase.COLLECTIVE),
                )
        if torch.version.cuda is not None:
            for name in ("to", "cuda"):
                patches.wrap(torch.Tensor, name, self._wrap_transfer)

    def attach_checkpoints(self, patches: Patches) -> None:
        """Wrap functions of `torch.distributed.checkpoint`, often imported later."""
        checkpoint = sys.modules["torch.distributed.checkpoint"]
        for name in ("save", "async_save"):
            patches.wrap(checkpoint, name, lambda original: self.timed(original, Phase.CHECKPOINT))

    def _attach_savers(self, patches: Patches) -> None:
        """Wrap the save functions of libraries imported before training begins.

        Scripts may have imported the public functions by name, so the functions they call are
        wrapped.
        """
        for module, owner, name in _SAVERS:
            library = sys.modules.get(module)
            kind = getattr(library, owner, None) if owner else library
            if kind is not None and (module, name) not in self._savers:
                self._savers.add((module, name))
                patches.wrap(kind, name, lambda original: self.timed(original, Phase.CHECKPOINT))

    def _wrap_next(self, original: Callable[..., Any]) -> Callable[..., Any]:
        clock, get_ident, deferred = self._session.clock, threading.get_ident, self._deferred
        now_ns, monotonic_ns, feeds = clock.now_ns, clock.monotonic_ns, deferred.feeds
        state, note_wait = self._session.state, deferred.rest.counter.notes.append

        def awaited(iterator: Any) -> Any:
            if state.is_resting:
                start_ns = monotonic_ns()
                try:
                    batch = original(iterator)
                except BaseException as error:
                    drop_frame(error)
                    raise
                feeds.latest = feeds.by_iterator.get(id(iterator)) or NO_FEED
                end_ns = monotonic_ns()
                if end_ns - start_ns > LONG_WAIT_NS:
                    note_wait((start_ns + clock.anchor_ns, end_ns + clock.anchor_ns))
                return batch
            start_ns, is_exhausted = now_ns(), True
            try:
                batch = original(iterator)
                is_exhausted = False
                return batch
            except BaseException as error:
                drop_frame(error)
                raise
            finally:
                feed = None if is_exhausted else feeds.by_iterator.get(id(iterator))
                feeds.latest = feed or NO_FEED
                if deferred.is_on and get_ident() == deferred.thread_id:
                    deferred.notes.append((DATA_WAIT, start_ns, now_ns(), is_exhausted, None))
                else:
                    self._data_wait(start_ns, is_exhausted)

        return awaited

    def _record_data_wait(self, start_ns: int, is_exhausted: bool) -> None:
        self._session.steps.data_wait(start_ns, is_exhausted=is_exhausted)
        self._on_batch()

    def timed(self, original: Callable[..., Any], phase: Phase) -> Callable[..., Any]:
        """Wrap a function to record its time as a phase, unless nested in another wait."""
        session, state = self._session, self._session.state
        now_ns, is_compiling = session.clock.now_ns, torch.compiler.is_compiling
        is_collective = phase is Phase.COLLECTIVE

        def timed(*args: Any, **kwargs: Any) -> Any:
            try:
                if (
                    is_compiling()
                ):  # checked first, because the compiler traces everything before it
                    return original(*args, **kwargs)
                if not (state.is_on and session.thread.is_current()) or self._depth:
                    return original(*args, **kwargs)
                start_ns = now_ns()
                self._depth += 1
                try:
                    if is_collective and self.observer is not None:
                        return self.observer(original, args, kwargs)
                    return original(*args, **kwargs)
                finally:
                    self._depth -= 1
                    self._span(phase, start_ns)
            except BaseException as error:
                drop_frame(error)
                raise

        return timed

    def _wrap_transfer(self, original: Callable[..., Any]) -> Callable[..., Any]:
        session, state = self._session, self._session.state
        now_ns, is_compiling = session.clock.now_ns, torch.compiler.is_compiling

        def moved(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                if state.is_resting or is_compiling() or not state.is_on or tensor.is_cuda:
                    return original(tensor, *args, **kwargs)
                start_ns = now_ns()
                result = original(tensor, *args, **kwargs)
                if result.is_cuda:
                    self._span(Phase.HOST_TO_DEVICE, start_ns)
                return result
            except BaseException as error:
                drop_frame(error)
                raise

        return moved
