"""Inputs of models and tensors of their layers, in inspected forward passes.

Modules inside a model have hooks only during such a pass.
"""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from sonde.hook.steps import Pass, StepId
from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.patching.hooks import Hooks, PostHook, PreHook
from sonde.hook.torch.patching.names import unwrapped, walk
from sonde.hook.torch.tensors.activations import compiled_regions, kinds_of
from sonde.hook.torch.tensors.due_tensors import Kinds
from sonde.hook.torch.tensors.forward_tensors import (
    is_plain,
    leaves_of,
    leaves_of_call,
)
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.tensor_samples import HostCopies, can_copy, deliver
from sonde.records.observation import ObservationKind
from sonde.records.observations.batches import ImageChannels, TokenCounts

_MAX_MODULES = 64  # with hooks in one pass, evenly spread
_IMAGE_DIMENSIONS = 4
_MAX_IMAGES = 256
_MAX_PIXELS = 2**18  # of all images and channels together
_MAX_CHANNELS = 16
_MAX_TOKENS = 2**14
_MIN_VOCABULARY = 8  # smaller embeddings encode token types, not tokens
_MATRIX_DIMENSIONS = 2
_MAX_RECORDED_TOKENS = 16


class _Layer(NamedTuple):
    """A module that gets hooks."""

    name: str
    module: nn.Module
    inputs: Kinds | None
    outputs: Kinds | None


class InnerInspections(StateCheck):
    """Put hooks on layers before an inspected pass and remove them after it."""

    name = "layer inspections"
    observes = (ObservationKind.INPUT_CHANNELS, ObservationKind.INPUT_TOKENS)
    order = 110

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        self._modules = context.modules
        self._inspections = inspections = context.inspections
        self._names = context.names
        self._forward_tensors = context.forward_tensors
        self._activations = context.activations
        self._hooks = Hooks()
        self._forward: ForwardPass | None = None  # the inspected pass
        self._channels = inspections.timed("input channels", self._inspect_channels)
        self._tokens = inspections.timed("input tokens", self._inspect_tokens)

    def forward_begins(
        self, forward: ForwardPass, root: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Put hooks on the layers to inspect, if this pass is inspected."""
        self._stop()
        if forward.kind is not Pass.TRAIN:
            self._inspections.evaluations.begin_pass()
            return
        if not self._inspections.is_due_in(forward):
            return
        self._forward = forward
        if self._session.plan.needs(ObservationKind.INPUT_CHANNELS):
            stem = self._names.stem_of(root, "input")
            for suffix, tensor in leaves_of_call(args, kwargs):
                self._channels(forward, f"{stem}_0{suffix}", tensor)
        layers = list(self._layers_of(root))
        for layer in layers[:: -(-len(layers) // _MAX_MODULES) or 1]:
            self._hooks.put(layer.module, self._before(layer), self._after(layer))

    def forward_ends(self, _forward: ForwardPass, _root: nn.Module, _output: object) -> None:
        """Remove the hooks of the pass."""
        self._stop()

    def _stop(self) -> None:
        self._hooks.remove()
        self._forward = None

    def _layers_of(self, root: nn.Module) -> Iterator[_Layer]:
        """Yield modules with tensors that a rule needs and that are not collected already."""
        plan, regions = self._session.plan, compiled_regions(root)
        tokens = plan.needs(ObservationKind.INPUT_TOKENS)
        for name, module in walk(root, self._names.prefix_of(root)):
            if module is unwrapped(root) or isinstance(module, torch.jit.ScriptModule):
                continue
            if id(module) in regions:
                continue
            if isinstance(module, nn.Embedding):
                if tokens and module.num_embeddings >= _MIN_VOCABULARY:
                    yield _Layer(name, module, None, None)
                continue
            inputs, outputs = kinds_of(module)
            collected = self._activations.takes(module)
            layer = _Layer(
                name,
                module,
                inputs if plan.inspects(inputs) and not collected[0] else None,
                outputs if plan.inspects(outputs) and not collected[1] else None,
            )
            if layer.inputs or layer.outputs:
                yield layer

    def _before(self, layer: _Layer) -> PreHook | None:
        is_compiling, name = torch.compiler.is_compiling, layer.name
        offer = self._session.guard.shield(
            self.name, self._session.frameworks.wrap_hook(self._offer), None
        )
        if isinstance(layer.module, nn.Embedding):

            def inspect_tokens(_module: nn.Module, args: Any, kwargs: Any) -> None:
                if not is_compiling() and self._forward is not None:
                    self._tokens(self._forward, f"{name}_input_0", args, kwargs)

            return inspect_tokens
        kinds = layer.inputs
        if kinds is None:
            return None

        def before(_module: nn.Module, args: Any, kwargs: Any) -> None:
            if not is_compiling():
                offer(f"{name}_input", kinds, leaves_of_call(args, kwargs))

        return before

    def _after(self, layer: _Layer) -> PostHook | None:
        is_compiling, name, kinds = torch.compiler.is_compiling, layer.name, layer.outputs
        offer = self._session.guard.shield(
            self.name, self._session.frameworks.wrap_hook(self._offer), None
        )
        if kinds is None:
            return None

        def after(_module: nn.Module, _args: Any, _kwargs: Any, output: Any) -> None:
            if not is_compiling():
                offer(f"{name}_output", kinds, leaves_of(output))

        return after

    def _offer(self, stem: str, kinds: Kinds, leaves: Any) -> None:
        if self._forward is not None and self._modules.passes.is_running:
            self._forward_tensors.offer(self._forward, stem, kinds, leaves)

    def _inspect_channels(self, forward: ForwardPass, name: str, images: Tensor) -> None:
        images = local(images).detach()
        if (
            images.dim() != _IMAGE_DIMENSIONS
            or not images.is_floating_point()
            or not images.numel()
        ):
            return
        if images.shape[1] > _MAX_CHANNELS or not can_copy(images):
            return
        with torch.no_grad():
            sample = _sample_images(images).to(torch.float32)
            variances, means = torch.var_mean(sample, dim=(0, 2, 3), correction=0)
            copies = HostCopies([means, variances.sqrt()])
        count = len(sample)

        def record(tensors: list[Tensor], at: StepId) -> None:
            channels = ImageChannels(*(_rounded(statistic.tolist()) for statistic in tensors))
            self._observe(ObservationKind.INPUT_CHANNELS, name, float(count), channels, at)

        def settled(at: StepId) -> None:
            deliver(self._session, self.name, copies, lambda tensors: record(tensors, at))

        forward.when_settled(settled)

    def _inspect_tokens(
        self, forward: ForwardPass, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        tokens = args[0] if args else kwargs.get("input")
        if not (isinstance(tokens, Tensor) and is_plain(tokens) and can_copy(tokens)):
            return
        tokens = local(tokens)
        if tokens.dim() != _MATRIX_DIMENSIONS or tokens.is_floating_point() or not tokens.numel():
            return
        with torch.no_grad():
            sample = tokens[: max(1, _MAX_TOKENS // tokens.shape[1]), :_MAX_TOKENS]
            copies = HostCopies([sample])

        def record(tensors: list[Tensor], at: StepId) -> None:
            counts = Counter(tensors[0].tolist())
            frequent = TokenCounts(dict(counts.most_common(_MAX_RECORDED_TOKENS)))
            self._observe(ObservationKind.INPUT_TOKENS, name, float(counts.total()), frequent, at)

        def settled(at: StepId) -> None:
            deliver(self._session, self.name, copies, lambda tensors: record(tensors, at))

        forward.when_settled(settled)


def _sample_images(images: Tensor) -> Tensor:
    """Select evenly spaced images of the batch, and evenly spaced pixels of large images."""
    sample = images[:: -(-len(images) // _MAX_IMAGES)]
    stride = max(1, math.isqrt(sample.numel() // _MAX_PIXELS))
    return sample[:, :, ::stride, ::stride]


def _rounded(numbers: list[float]) -> tuple[float, ...]:
    return tuple([float(f"{number:.9g}") for number in numbers])
