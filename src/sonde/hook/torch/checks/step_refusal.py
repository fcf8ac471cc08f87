"""Stop before damage: prevent optimizer steps on non-finite gradients.

Enabled by `stop_on_non_finite`. The check waits for the device once per step, and all
workers must agree, so they have to step their optimizers in the same order.
"""

from collections.abc import Callable
from typing import NoReturn

import torch
from torch import Tensor, distributed
from torch.optim import Optimizer

from sonde.errors import RefusedStepError
from sonde.hook.stopping import stop_job
from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.checks.nonfinite_origin import NonFiniteOrigin
from sonde.hook.torch.loop.optimizers import parameters_of
from sonde.hook.torch.tensors.finiteness import bad_value
from sonde.hook.torch.tensors.shards import local
from sonde.records.observation import ObservationKind
from sonde.records.observations.parameters import RefusedStep

_MAX_NAMES = 3
_SETTING = "stop_on_non_finite"

_norms_of: Callable[..., list[Tensor]] = vars(torch)["_foreach_norm"]


class StepRefusal(StateCheck):
    """Check all gradients before an optimizer uses them."""

    name = "stop on non-finite gradients"
    observes = (ObservationKind.REFUSED_STEP,)
    order = 70

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        self._names = context.names
        self._origin = context.check(NonFiniteOrigin)
        session = context.session
        session.requests.last_step.count_workers = lambda: _workers(session.store.worker.world_size)

    def before_update(self, optimizer: Optimizer, _number: int) -> None:
        """Stop the job if any gradient on any worker is not finite."""
        if not self._session.settings.stop_on_non_finite or _is_left_to_scaler(optimizer):
            return
        # waiting for the training's own device work is not overhead
        if not self._session.overhead.queue("agreement", _is_any_suspicious, optimizer):
            return
        bad = [
            parameter
            for parameter in parameters_of(optimizer)
            if bad_value(parameter.grad) is not None
        ]
        workers = _workers_with(has_bad=bool(bad))
        if workers:
            self._refuse(optimizer, bad, workers)

    def _refuse(self, optimizer: Optimizer, bad: list[Tensor], workers: list[int]) -> NoReturn:
        session, step = self._session, self._session.steps.number
        names = [self._names.name_of(parameter) or "a parameter" for parameter in bad]
        subject = ", ".join(names[:_MAX_NAMES])
        if bad:
            origin = self._origin
            session.guard.call(origin.name, lambda: origin.inspect(parameters_of(optimizer)), None)
        refused = RefusedStep(tuple(names[:_MAX_NAMES]))
        self._observe(ObservationKind.REFUSED_STEP, subject, float(len(workers)), refused)
        more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        of_worker = f" of worker {workers[0]}" if _is_distributed_run() else ""
        reason = (
            f"non-finite gradients{f' in {subject}{more}' if bad else ''}{of_worker} at step {step}"
        )
        session.close()
        if _rank() == workers[0]:
            by = f"{session.settings.stop_rule or _SETTING}: {reason}"
            session.guard.call("the stop", lambda: stop_job(session, by), None)
        # launchers end all workers when the first one exits
        session.guard.call("the stop", _wait_for_workers, None)
        raise RefusedStepError(reason)


def _is_left_to_scaler(optimizer: Optimizer) -> bool:
    """Return whether a gradient scaler skips non-finite steps of this optimizer."""
    return getattr(optimizer, "found_inf", None) is not None


def _is_any_suspicious(optimizer: Optimizer) -> bool:
    """Return whether a gradient norm overflows or is not finite on any worker."""
    groups: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
    for parameter in parameters_of(optimizer):
        if parameter.grad is not None:
            gradient = _values(local(parameter.grad).detach())
            groups.setdefault((gradient.device, gradient.dtype), []).append(gradient)
    flags = [_suspicion(group) for group in groups.values()] or [torch.zeros((), device="cpu")]
    flag = torch.stack([value.to(flags[0].device) for value in flags]).amax()
    return bool(_all_reduce_max(flag) if _is_distributed_run() else flag)


def _values(gradient: Tensor) -> Tensor:
    return gradient if gradient.layout is torch.strided else gradient.coalesce().values()


def _suspicion(gradients: list[Tensor]) -> Tensor:
    single = torch.float32
    with torch.no_grad():
        is_narrow = gradients[0].itemsize < single.itemsize
        norms = _norms_of(gradients, 2, dtype=single if is_narrow else None)
        return (~torch.isfinite(torch.stack(norms))).any().to(single)


def _workers_with(*, has_bad: bool) -> list[int]:
    """Return the ranks of workers with non-finite gradients."""
    if not _is_distributed_run():
        return [_rank()] if has_bad else []
    flags = torch.zeros(distributed.get_world_size(), device="cpu")
    flags[_rank()] = float(has_bad)
    return [rank for rank, flag in enumerate(_all_reduce_max(flags).tolist()) if flag]


def _all_reduce_max(flags: Tensor) -> Tensor:
    """Return the maximum of all workers' flags."""
    backend = str(distributed.get_backend())
    needs_device = "nccl" in backend and "gloo" not in backend
    reduced = flags.to("cuda" if needs_device else "cpu")
    # not the public function, whose calls are recorded as part of training
    distributed.distributed_c10d.all_reduce(reduced, distributed.ReduceOp.MAX)
    return reduced


def _wait_for_workers() -> None:
    _workers_with(has_bad=True)


def _is_distributed_run() -> bool:
    is_ready = distributed.is_available() and distributed.is_initialized()
    return is_ready and distributed.get_world_size() > 1


def _workers(default: int) -> int:
    return distributed.get_world_size() if _is_distributed_run() else default


def _rank() -> int:
    return distributed.get_rank() if _is_distributed_run() else 0
