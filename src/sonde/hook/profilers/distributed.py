"""Collectives of torch.distributed, call by call: what, how much, with whom, and how long.

It sees what Python calls. DDP and others call from C++: those are in the trace of the operators.
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
from sonde.hook.session import Session
from sonde.hook.torch.patching.patches import Patches
from sonde.records.profile import NO_CORRELATION, OperationCategory, Window

LANE = "collectives"
_MOST_UNDER_WAY = 256
_COLLECTIVE = OperationCategory.COLLECTIVE.value

# what a worker gives away, by the name of its parameter
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
    """A collective, from its call to its end."""

    name: str
    start_ns: int
    lane: int = 0  # 0: the training thread waited for it
    end_ns: int = 0
    wait_ns: int = 0  # of a thread in `wait`
    works: int = 0  # that are not over yet
    facts: dict[str, Any] = field(default_factory=dict)


class Distributed(Profiler):
    """Listens to the calls that are timed anyway, and to `wait` of what they return."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._now_ns = session.clock.now_ns
        self._patches = Patches()
        self._under_way: WeakKeyDictionary[Any, _Call] = WeakKeyDictionary()
        self._asynchronous: list[_Call] = []
        self._inside: _Call | None = None
        self._lanes: set[int] = set()
        self._signatures: dict[str, inspect.Signature] = {}
        guard = session.guard
        self._returned = guard.shield("collectives", self._has_returned, None)
        self._waited = guard.shield("collectives", self._has_waited, None)
        self._completed = guard.shield("collectives", self._is_complete, None)

    def begin(self, window: Window) -> str | None:
        """Listens from now on."""
        if not (dist.is_available() and dist.is_initialized()):
            return "there is no process group"
        adapter = self.session.frameworks.adapters.get("torch")
        if not isinstance(adapter, PyTorch):
            return "PyTorch is not watched"
        adapter.waiting.observed = self._observed
        self._patches.wrap(dist.Work, "wait", self._waiting)
        return None

    def end(self, window: Window) -> None:
        """Listens no more; what is still under way is recorded as far as it came."""
        adapter = self.session.frameworks.adapters.get("torch")
        if isinstance(adapter, PyTorch):
            adapter.waiting.observed = None
        self._patches.undo()
        while self._asynchronous:
            self._leave(self._asynchronous[0])
        self._under_way.clear()

    @hidden_from_warnings
    def _observed(self, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Calls it; what it returns is handed on as it is."""
        call = self._inside = _Call(original.__name__, self._now_ns())
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise
        finally:
            self._inside = None
        self._returned(call, original, (args, kwargs), result)
        return result

    def _waiting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        now_ns, is_compiling = self._now_ns, torch.compiler.is_compiling

        def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                if is_compiling():
                    return original(work, *args, **kwargs)
                start_ns = now_ns()
                result = original(work, *args, **kwargs)
                self._waited(work, start_ns, now_ns())
                return result
            except BaseException as error:
                drop_frame(error)
                raise

        return wait

    def _has_returned(
        self, call: _Call, original: Callable[..., Any], given: Any, result: Any
    ) -> None:
        end_ns = self._now_ns()
        facts = self._facts(call.name, original, given)
        if facts is None:  # this worker is no member of the group
            return
        works = result if isinstance(result, list) else [result]
        works = [one for one in works if isinstance(one, dist.Work)]
        call.facts = {**facts, "async": bool(works), "call_ns": end_ns - call.start_ns}
        if not works:
            self._record(call, end_ns)
            return
        call.lane = next(number for number in range(1, 1 << 30) if number not in self._lanes)
        call.works = len(works)
        self._lanes.add(call.lane)
        self._asynchronous.append(call)
        if len(self._asynchronous) > _MOST_UNDER_WAY:
            self._leave(self._asynchronous[0])
        for work in works:
            self._under_way[work] = call
            if facts["backend"] == "gloo":  # elsewhere it is over when a device has done it
                with suppress(RuntimeError):  # messages from one worker to another have no future
                    work.get_future().add_done_callback(lambda _done: self._completed(call))

    def _facts(self, name: str, original: Callable[..., Any], given: Any) -> dict[str, Any] | None:
        if name not in self._signatures:
            self._signatures[name] = inspect.signature(original)
        args, kwargs = given
        bound = self._signatures[name].bind(*args, **kwargs).arguments
        operations = bound.get("p2p_op_list", ())
        group = bound.get("group") or next((one.group for one in operations), None)
        group = group or dist.group.WORLD
        if group is None or dist.get_rank(group) < 0:
            return None
        payload = bound.get(_PAYLOADS.get(name, "tensor"), ())
        tensors = [one.tensor for one in operations] or _tensors(payload)
        facts: dict[str, Any] = {"group": group.group_name, "size": group.size()}
        facts["backend"] = str(dist.get_backend(group))
        if tensors:
            facts["bytes"] = sum(one.numel() * one.element_size() for one in tensors)
            facts["dtype"] = str(tensors[0].dtype).removeprefix("torch.")
        return facts

    def _has_waited(self, work: Any, start_ns: int, end_ns: int) -> None:
        inside = self._inside if self.session.thread.is_current() else None
        call = inside or self._under_way.pop(work, None)
        if call is None:
            return
        call.wait_ns += end_ns - start_ns
        if call is not inside:
            call.works -= 1
            if call.works == 0:
                self._record(call, call.end_ns or end_ns)

    def _leave(self, call: _Call) -> None:
        """Nobody has waited for it; it may be over all the same."""
        if not call.end_ns:
            call.facts["unfinished"] = True
        call.works = 0
        self._record(call, call.end_ns or self._now_ns())

    def _is_complete(self, call: _Call) -> None:
        call.end_ns = self._now_ns()  # in a thread of gloo's

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
    given: Iterable[Any] = payload if isinstance(payload, list | tuple) else (payload,)
    return [one for one in given if isinstance(one, torch.Tensor)]
