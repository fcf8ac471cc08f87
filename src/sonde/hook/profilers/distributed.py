"""Collectives of torch.distributed: operation, bytes, process group and duration of each call.

Only calls from Python are recorded. DDP, for example, calls from C++; such calls are in the
operator trace.
"""

import inspect
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist

from sonde.hook.frameworks.torch import PyTorch
from sonde.hook.hidden_frames import drop_frame, hidden_from_warnings
from sonde.hook.profilers._profiler import Profiler
from sonde.hook.profilers._tracing import NO_TORCH
from sonde.hook.session import Session
from sonde.hook.torch.patching.patches import Patches
from sonde.records.profile import NO_CORRELATION, OperationCategory, Window

LANE = "collectives"
_MAX_IN_FLIGHT = 256
_COLLECTIVE = OperationCategory.COLLECTIVE.value

# the parameter that holds the data a worker sends
_PAYLOADS = {
    "all_gather_into_tensor": "input_tensor",
    "all_gather_single": "input_tensor",
    "all_to_all": "input_tensor_list",
    "all_to_all_single": "input",
    "reduce_scatter": "input_list",
    "reduce_scatter_single": "input",
    "reduce_scatter_tensor": "input",
}


@dataclass(slots=True, eq=False)
class _Call:
    """A collective from its call to its completion."""

    name: str
    start_ns: int
    lane: int = 0  # 0: the training thread waited for it
    end_ns: int = 0
    wait_ns: int = 0  # time that a thread spent in `wait`
    works: int = 0  # number of handles that have not completed yet
    facts: dict[str, Any] = field(default_factory=dict)


class Distributed(Profiler):
    """Records timed calls of collectives, and `wait` on the handles that they return."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._now_ns = session.clock.now_ns
        self._patches = Patches()
        self._in_flight: WeakKeyDictionary[Any, _Call] = WeakKeyDictionary()
        self._asynchronous: list[_Call] = []
        self._current: _Call | None = None
        self._lanes: set[int] = set()
        self._signatures: dict[str, inspect.Signature] = {}
        guard = session.guard
        self._on_return = guard.shield("collectives", self._handle_return, None)
        self._on_wait = guard.shield("collectives", self._handle_wait, None)
        self._on_completion = guard.shield("collectives", self._handle_completion, None)

    def begin(self, window: Window) -> str | None:
        """Start recording collectives."""
        if not (dist.is_available() and dist.is_initialized()):
            return "no process group is initialized"
        adapter = self.session.frameworks.adapters.get("torch")
        if not isinstance(adapter, PyTorch):
            return NO_TORCH
        adapter.waiting.observer = self._call_observed
        self._patches.wrap(dist.Work, "wait", self._wrap_wait)
        return None

    def end(self, window: Window) -> None:
        """Stop recording; collectives in flight are recorded as unfinished."""
        adapter = self.session.frameworks.adapters.get("torch")
        if isinstance(adapter, PyTorch):
            adapter.waiting.observer = None
        self._patches.undo()
        while self._asynchronous:
            self._abandon(self._asynchronous[0])
        self._in_flight.clear()

    @hidden_from_warnings
    def _call_observed(self, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call the original function, record the call, and return the result."""
        call = self._current = _Call(original.__name__, self._now_ns())
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            self._current = None
        self._on_return(call, original, (args, kwargs), result)
        return result

    def _wrap_wait(self, original: Callable[..., Any]) -> Callable[..., Any]:
        now_ns, is_compiling = self._now_ns, torch.compiler.is_compiling

        def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                if is_compiling():
                    return original(work, *args, **kwargs)
                start_ns = now_ns()
                result = original(work, *args, **kwargs)
                self._on_wait(work, start_ns, now_ns())
                return result
            except BaseException as error:
                drop_frame(error)
                raise

        return wait

    def _handle_return(
        self, call: _Call, original: Callable[..., Any], arguments: Any, result: Any
    ) -> None:
        end_ns = self._now_ns()
        facts = self._facts(call.name, original, arguments)
        if facts is None:  # this worker is not in the group
            return
        results = result if isinstance(result, list) else [result]
        works = [work for work in results if isinstance(work, dist.Work)]
        call.facts = {**facts, "async": bool(works), "call_ns": end_ns - call.start_ns}
        if not works:
            self._record(call, end_ns)
            return
        call.lane = next(number for number in range(1, 1 << 30) if number not in self._lanes)
        call.works = len(works)
        self._lanes.add(call.lane)
        self._asynchronous.append(call)
        if len(self._asynchronous) > _MAX_IN_FLIGHT:
            self._abandon(self._asynchronous[0])
        for work in works:
            self._in_flight[work] = call
            if facts["backend"] == "gloo":  # other backends complete on a device
                with suppress(RuntimeError):  # point-to-point operations have no future
                    work.get_future().add_done_callback(lambda _done: self._on_completion(call))

    def _facts(
        self, name: str, original: Callable[..., Any], arguments: Any
    ) -> dict[str, Any] | None:
        if name not in self._signatures:
            self._signatures[name] = inspect.signature(original)
        args, kwargs = arguments
        bound = self._signatures[name].bind(*args, **kwargs).arguments
        operations = bound.get("p2p_op_list", ())
        group = bound.get("group") or next((operation.group for operation in operations), None)
        group = group or dist.group.WORLD
        if group is None or dist.get_rank(group) < 0:
            return None
        payload = bound.get(_PAYLOADS.get(name, "tensor"), ())
        tensors = [operation.tensor for operation in operations] or _tensors(payload)
        facts: dict[str, Any] = {"group": group.group_name, "size": group.size()}
        facts["backend"] = str(dist.get_backend(group))
        if tensors:
            facts["bytes"] = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
            facts["dtype"] = str(tensors[0].dtype).removeprefix("torch.")
        return facts

    def _handle_wait(self, work: Any, start_ns: int, end_ns: int) -> None:
        current = self._current if self.session.thread.is_current() else None
        call = current or self._in_flight.pop(work, None)
        if call is None:
            return
        call.wait_ns += end_ns - start_ns
        if call is not current:
            call.works -= 1
            if call.works == 0:
                self._record(call, call.end_ns or end_ns)

    def _abandon(self, call: _Call) -> None:
        """Record a call that was never waited for; it may have completed."""
        if not call.end_ns:
            call.facts["unfinished"] = True
        call.works = 0
        self._record(call, call.end_ns or self._now_ns())

    def _handle_completion(self, call: _Call) -> None:
        call.end_ns = self._now_ns()  # called in a thread of Gloo

    def _record(self, call: _Call, end_ns: int) -> None:
        if call.lane:
            self._asynchronous.remove(call)
            self._lanes.discard(call.lane)
        lane = f"{LANE} {call.lane + 1}" if call.lane else LANE
        detail = json.dumps({**call.facts, "wait_ns": call.wait_ns}, separators=(",", ":"))
        duration_ns = max(0, end_ns - call.start_ns)
        row = (call.name, _COLLECTIVE, lane, "cpu", call.start_ns, duration_ns, duration_ns)
        self.session.recorder.operation((*row, NO_CORRELATION, "", detail))


def _tensors(payload: Any) -> list[torch.Tensor]:
    values: Iterable[Any] = payload if isinstance(payload, list | tuple) else (payload,)
    return [value for value in values if isinstance(value, torch.Tensor)]
