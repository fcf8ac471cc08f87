"""Loss functions: evaluation losses, and inspection of predictions and labels.

In training, the loss is the tensor that backward is called on. Without gradients, the value that a
loss function returns is the loss of the evaluation step whose forward pass came before.
"""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeGuard

import torch
import torch.nn.functional
from torch import Tensor, nn
from torch._C import _get_tracing_state

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.session import Session
from sonde.hook.steps import FinishedStep, Pass, StepId
from sonde.hook.torch.checks._attached_checks import AttachedChecks
from sonde.hook.torch.loop.deferred_hooks import LOSS, Note
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.loop.modules import Modules
from sonde.hook.torch.patching.identities import IdentitySet
from sonde.hook.torch.patching.patches import Patches
from sonde.hook.torch.tensors.device_scalars import DeviceScalars
from sonde.hook.torch.tensors.forward_tensors import ForwardTensors, is_plain, leaves_of
from sonde.hook.torch.tensors.host_numbers import number_in
from sonde.hook.torch.tensors.shards import full_tensor, local
from sonde.records.tensor import TensorKind
from sonde.records.worker import TensorInfo

# functions that compare predictions with labels
_WITH_LABELS = (
    *("binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "ctc_loss"),
    *("gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "l1_loss", "mse_loss"),
    *("multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss"),
    *("poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss"),
)
_WITHOUT_LABELS = (
    *("cosine_embedding_loss", "kl_div", "linear_cross_entropy", "margin_ranking_loss"),
    *("triplet_margin_loss", "triplet_margin_with_distance_loss"),
)


_LABEL = (TensorKind.LABEL,)
_PREDICTION = (TensorKind.PREDICTION,)


class Criteria:
    """Wraps loss functions and observes every call outside compiled regions."""

    def __init__(
        self,
        session: Session,
        modules: Modules,
        scalars: DeviceScalars,
        forward_tensors: ForwardTensors,
        checks: AttachedChecks,
    ) -> None:
        self._session = session
        self._modules = modules
        self._scalars = scalars
        self._forward_tensors = forward_tensors
        self._checks = checks
        self._depth = 0  # loss functions may call each other
        self._hooked: IdentitySet[nn.Module] = IdentitySet()
        self._pass: ForwardPass | None = None  # the evaluation pass that current losses belong to
        self._losses: list[tuple[str, Tensor | float]] = []
        modules.passes.listen("losses of evaluations", self._pass_begins, self._pass_ends)
        modules.passes.at_evaluation.append(self._on_deferred_pass)
        modules.deferred.on_note(LOSS, self._on_deferred_loss)
        modules.on_found.append(session.guard.shield("loss modules", self._hook_loss_modules, None))
        session.listeners.on_step("losses outside of training", self._after_step)
        session.listeners.on_end(self._settle)

    def attach(self, patches: Patches) -> None:
        """Wrap the functional losses, which loss modules call too."""
        for name in (*_WITH_LABELS, *_WITHOUT_LABELS):
            patches.wrap(torch.nn.functional, name, self._wrap)

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        is_compiling, has_gradients = torch.compiler.is_compiling, torch.is_grad_enabled
        session, name, deferred = self._session, original.__name__, self._modules.deferred
        get_ident, now_ns, state, current = (
            *(threading.get_ident, session.clock.now_ns, session.state, deferred.current),
        )
        after_call = session.hook("loss functions", self._after_call, None)
        sample_labels = session.guard.shield("labels", self._sample_labels, None)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            try:
                if state.is_resting or is_compiling() or self._depth or not state.is_on:
                    return original(*args, **kwargs)
                is_deferred = deferred.is_on and get_ident() == deferred.thread_id
                if is_deferred and has_gradients():
                    sample_labels(name, args, kwargs)
                    return original(*args, **kwargs)
                self._depth = 1
                try:
                    result = original(*args, **kwargs)
                finally:
                    self._depth = 0
                value = number_in(result) if is_deferred and current.is_evaluating else None
                if value is not None:
                    value *= _per_sample_scale(args, kwargs)
                if value is None:
                    after_call(name, args, kwargs, result)
                elif current.depth:
                    current.inner_losses.append((name, value))
                else:
                    deferred.note((LOSS, *(now_ns(),) * 2, name, value))
                return result
            except BaseException as error:
                drop_frame(error)
                raise

        # TorchScript compiles this instead of the wrapper
        vars(wrapper)["__prepare_scriptable__"] = lambda: original
        return wrapper

    def _sample_labels(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if name not in _WITHOUT_LABELS:
            self._checks.deferred_loss_called(name, _predictions_and_labels(args, kwargs)[1])

    def _hook_loss_modules(self, roots: list[nn.Module]) -> None:
        """Hook custom loss modules, which may not call any functional loss."""
        for root in roots:
            for module in root.modules():
                if _is_custom_loss(module) and module not in self._hooked:
                    self._hooked.add(module)
                    self._put_hooks(module)

    def _put_hooks(self, module: nn.Module) -> None:
        is_compiling, name = torch.compiler.is_compiling, type(module).__name__
        after_call = self._session.hook("loss functions", self._after_call, None)

        def before(_module: nn.Module, _args: Any, _kwargs: Any) -> None:
            if not is_compiling():
                self._depth += 1

        def after(_module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            if not is_compiling():
                self._depth = max(0, self._depth - 1)
                if not self._depth:
                    after_call(name, args, kwargs, output)

        self._modules.hooks.put(module, before, after)

    def _after_call(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        if _get_tracing_state() is not None or not isinstance(result, Tensor):
            return
        forward = self._forward() if is_plain(result) else None
        if forward is None:
            return
        if name not in _WITHOUT_LABELS:
            self._inspect_inputs(name, forward, *_predictions_and_labels(args, kwargs))
        if forward.kind is not Pass.TRAIN and _is_number(result):
            self._add(name, result, forward, _per_sample_scale(args, kwargs))
            if not torch.is_grad_enabled() and not self._modules.passes.is_running:
                self._session.steps.evaluation_loss()

    def _forward(self) -> ForwardPass | None:
        """The pass that a loss belongs to, or None if unknown."""
        latest, steps = self._modules.passes.latest, self._session.steps
        if not torch.is_grad_enabled():
            is_training = latest is None or latest.kind is Pass.TRAIN
            was_training = latest is not None and latest.at is not None and latest.at[0] == "train"
            return None if is_training or was_training else latest
        if latest is not None and (latest.at is None or latest.at == (steps.mode, steps.number)):
            return latest
        return ForwardPass(steps, Pass.TRAIN)

    def _inspect_inputs(
        self, name: str, forward: ForwardPass, predictions: Any, labels: Any
    ) -> None:
        self._checks.loss_called(name, forward, predictions, labels)
        plan = self._session.plan
        for stem, kinds, tensor in (
            ("labels", _LABEL, labels),
            ("predictions", _PREDICTION, predictions),
        ):
            if plan.may_record(kinds[0]) and self._forward_tensors.is_due(forward):
                self._forward_tensors.offer(forward, stem, kinds, leaves_of(tensor))

    def correct_loss(self, loss: Any) -> None:
        """Replace the losses of the latest evaluation pass by one that a framework reports."""
        forward = self._modules.passes.latest
        if forward is not None and forward.kind is not Pass.TRAIN and _is_number(loss):
            self._losses.clear()
            self._add("loss", loss, forward)

    def _on_deferred_pass(self, forward: ForwardPass, losses: list[tuple[str, float]]) -> None:
        self._pass_begins()
        for name, value in losses:
            self._add_number(name, value, forward)

    def _on_deferred_loss(self, note: Note) -> None:
        _, _, _, name, value = note
        forward = self._modules.passes.latest
        if forward is not None:
            self._add_number(name, value, forward)

    def _add(self, name: str, result: Tensor, forward: ForwardPass, scale: float = 1.0) -> None:
        number = local(result).detach()
        if scale != 1:
            number = number * scale
        is_on_cpu = number.device.type == "cpu"
        self._add_number(name, float(number) if is_on_cpu else number.clone(), forward)

    def _add_number(self, name: str, number: Tensor | float, forward: ForwardPass) -> None:
        if self._pass is not forward:
            self._settle()
            self._pass = forward
        self._losses.append((name, number))

    def _pass_begins(self, *_: object) -> None:
        self._depth = 0
        self._settle()

    def _pass_ends(self, forward: ForwardPass, _module: nn.Module, output: Any) -> None:
        """Use the `loss` of a model output instead of the losses computed inside the pass."""
        if forward.kind is Pass.TRAIN:
            return
        loss = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
        if _is_number(loss):
            self._losses.clear()
            self._add("loss", loss, forward)

    def _after_step(self, step: FinishedStep) -> None:
        if step.mode == "train":
            self._settle()

    def _settle(self) -> None:
        """Record the losses of the pass: a single one as `loss`, several as its components."""
        if self._pass is None:
            return
        forward, losses = self._pass, self._losses
        self._pass, self._losses = None, []

        def record(at: StepId) -> None:
            if at[0] != "train" and at[1] >= 0:
                for name, value in _named_losses(losses):
                    self._record(name, value, at, forward)

        forward.when_settled(record)

    def _record(self, name: str, value: Tensor | float, at: StepId, forward: ForwardPass) -> None:
        on_arrival = None
        if forward.batch is not None and isinstance(value, Tensor):
            on_arrival = forward.batch.await_loss(name)
        elif forward.batch is not None:
            forward.batch.add(name, value)
        self._scalars.record(name, [(value, 1.0)], at, on_arrival)
        if not self._session.store.has_tensor(name):
            description = "returned by a loss function, without gradients"
            self._session.store.register_tensor(
                TensorInfo(name, ("losses",), "float32", (), note=description)
            )


def _named_losses(losses: list[tuple[str, Tensor | float]]) -> list[tuple[str, Tensor | float]]:
    if len(losses) == 1:
        return [("loss", losses[0][1])]
    totals, numbers = Counter(name for name, _ in losses), Counter[str]()
    named = []
    for name, value in losses:
        number = f"_{numbers[name]}" if totals[name] > 1 else ""
        numbers[name] += 1
        named.append((f"loss/{name}{number}", value))
    return named


def _predictions_and_labels(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Extract predictions and labels from the arguments of a loss function."""
    predictions = args[0] if args else kwargs.get("input", kwargs.get("log_probs"))
    labels = args[1] if len(args) > 1 else kwargs.get("target", kwargs.get("targets"))
    return predictions, labels


def _per_sample_scale(args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
    """The factor that turns a loss summed over a batch into a mean per sample."""
    if kwargs.get("reduction") != "sum":
        return 1.0
    predictions = _predictions_and_labels(args, kwargs)[0]
    has_rows = isinstance(predictions, Tensor) and predictions.dim() and len(predictions)
    return 1 / len(predictions) if has_rows else 1.0


def _is_number(value: object) -> TypeGuard[Tensor]:
    return (
        isinstance(value, Tensor)
        and is_plain(value)
        and value.numel() == 1
        and value.is_floating_point()
        and full_tensor(value) is not None
    )


def _is_custom_loss(module: nn.Module) -> bool:
    kind = type(module)
    is_loss = kind.__name__.endswith(("Loss", "Criterion"))
    return is_loss and not kind.__module__.startswith("torch.nn.")
