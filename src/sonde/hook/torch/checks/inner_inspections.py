"""What goes into a model and through its layers, in the passes that are looked at.

Only such a pass has hooks on modules inside of the model; they are gone when it is over.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from sonde.hook.inspections import Looks
from sonde.hook.session import Session
from sonde.hook.steps import At, Pass
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.loop.modules import Modules
from sonde.hook.torch.patching.hooks import After, Before, Hooks
from sonde.hook.torch.patching.names import Names, unwrapped, walk
from sonde.hook.torch.tensors.activations import Activations, compiled_regions, kinds_of
from sonde.hook.torch.tensors.due_tensors import Kinds
from sonde.hook.torch.tensors.forward_tensors import Offers, is_plain, leaves_of, leaves_of_call
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.tensor_samples import Brought, can_bring, deliver
from sonde.records.observation import ObservationKind

PART = "looks inside of models"
_MOST_MODULES = 64  # with hooks in one pass, evenly spread
_IMAGES = 4  # dimensions
_MOST_IMAGES = 256
_MOST_PIXELS = 2**18  # of all images and channels together
_MOST_CHANNELS = 16
_MOST_TOKENS = 2**14
_FEWEST_WORDS = 8  # embeddings of fewer are of kinds of tokens, not of tokens
_MATRIX = 2  # dimensions
_MOST_TOLD = 16  # tokens


class _Inner(NamedTuple):
    """A module that gets hooks."""

    name: str
    module: nn.Module
    inputs: Kinds | None
    outputs: Kinds | None


class InnerLooks:
    """Puts the hooks on before a pass and takes them away after it."""

    def __init__(
        self,
        session: Session,
        modules: Modules,
        looks: Looks,
        names: Names,
        seen_by: tuple[Offers, Activations],
    ) -> None:
        self._session = session
        self._modules = modules
        self._looks = looks
        self._names = names
        self._offers, self._activations = seen_by
        self._hooks = Hooks()
        self._forward: ForwardPass | None = None  # the pass that is looked at
        self._channels = looks.part("channels of inputs", self._look_at_channels)
        self._tokens = looks.part("tokens of inputs", self._look_at_tokens)
        modules.listen(PART, self._begins, self._ends)

    def _begins(
        self, forward: ForwardPass, root: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._stop()
        if forward.kind is not Pass.TRAIN:
            self._looks.evaluates()
            return
        if not self._looks.is_due_in(forward):
            return
        self._forward = forward
        if self._session.plan.needs(ObservationKind.INPUT_CHANNELS):
            stem = self._names.stem_of(root, "input")
            for added, tensor in leaves_of_call(args, kwargs):
                self._channels(forward, f"{stem}_0{added}", tensor)
        inner = list(self._inner(root))
        for one in inner[:: -(-len(inner) // _MOST_MODULES) or 1]:
            self._hooks.put(one.module, self._before(one), self._after(one))

    def _ends(self, _forward: ForwardPass, _root: nn.Module, _output: object) -> None:
        self._stop()

    def _stop(self) -> None:
        self._hooks.remove()
        self._forward = None

    def _inner(self, root: nn.Module) -> Iterator[_Inner]:
        """The modules whose tensors a rule needs, where nobody else takes them already."""
        plan, regions = self._session.plan, compiled_regions(root)
        tokens = plan.needs(ObservationKind.INPUT_TOKENS)
        for name, module in walk(root, self._names.prefix_of(root)):
            if module is unwrapped(root) or isinstance(module, torch.jit.ScriptModule):
                continue
            if id(module) in regions:
                continue
            if isinstance(module, nn.Embedding):
                if tokens and module.num_embeddings >= _FEWEST_WORDS:
                    yield _Inner(name, module, None, None)
                continue
            inputs, outputs = kinds_of(module)
            taken = self._activations.takes(module)
            found = _Inner(
                name,
                module,
                inputs if plan.looks_at(inputs) and not taken[0] else None,
                outputs if plan.looks_at(outputs) and not taken[1] else None,
            )
            if found.inputs or found.outputs:
                yield found

    def _before(self, inner: _Inner) -> Before | None:
        is_compiling, name = torch.compiler.is_compiling, inner.name
        offer = self._session.guard.shield(PART, self._session.frameworks.around(self._offer), None)
        if isinstance(inner.module, nn.Embedding):

            def see(_module: nn.Module, args: Any, kwargs: Any) -> None:
                if not is_compiling() and self._forward is not None:
                    self._tokens(self._forward, f"{name}_input_0", args, kwargs)

            return see
        kinds = inner.inputs
        if kinds is None:
            return None

        def before(_module: nn.Module, args: Any, kwargs: Any) -> None:
            if not is_compiling():
                offer(f"{name}_input", kinds, leaves_of_call(args, kwargs))

        return before

    def _after(self, inner: _Inner) -> After | None:
        is_compiling, name, kinds = torch.compiler.is_compiling, inner.name, inner.outputs
        offer = self._session.guard.shield(PART, self._session.frameworks.around(self._offer), None)
        if kinds is None:
            return None

        def after(_module: nn.Module, _args: Any, _kwargs: Any, output: Any) -> None:
            if not is_compiling():
                offer(f"{name}_output", kinds, leaves_of(output))

        return after

    def _offer(self, stem: str, kinds: Kinds, leaves: Any) -> None:
        if self._forward is not None and self._modules.is_running:
            self._offers.offer(self._forward, stem, kinds, leaves)

    def _look_at_channels(self, forward: ForwardPass, name: str, images: Tensor) -> None:
        images = local(images).detach()
        if images.dim() != _IMAGES or not images.is_floating_point() or not images.numel():
            return
        if images.shape[1] > _MOST_CHANNELS or not can_bring(images):
            return
        with torch.no_grad():
            some = _spread(images).to(torch.float32)
            variances, means = torch.var_mean(some, dim=(0, 2, 3), correction=0)
            brought = Brought([means, variances.sqrt()])
        count = len(some)

        def tell(found: list[Tensor], at: At) -> None:
            means, stds = (_rounded(one.tolist()) for one in found)
            detail = json.dumps({"means": means, "stds": stds}, separators=(",", ":"))
            self._session.recorder.observe(
                ObservationKind.INPUT_CHANNELS, name, float(count), detail, at
            )

        def settled(at: At) -> None:
            deliver(self._session, PART, brought, lambda found: tell(found, at))

        forward.when_settled(settled)

    def _look_at_tokens(
        self, forward: ForwardPass, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        tokens = args[0] if args else kwargs.get("input")
        if not (isinstance(tokens, Tensor) and is_plain(tokens) and can_bring(tokens)):
            return
        tokens = local(tokens)
        if tokens.dim() != _MATRIX or tokens.is_floating_point() or not tokens.numel():
            return
        with torch.no_grad():
            some = tokens[: max(1, _MOST_TOKENS // tokens.shape[1]), :_MOST_TOKENS]
            brought = Brought([some])

        def tell(found: list[Tensor], at: At) -> None:
            counts = Counter(found[0].tolist())
            told = {str(token): count for token, count in counts.most_common(_MOST_TOLD)}
            detail = json.dumps({"counts": told}, separators=(",", ":"))
            total = float(counts.total())
            self._session.recorder.observe(ObservationKind.INPUT_TOKENS, name, total, detail, at)

        def settled(at: At) -> None:
            deliver(self._session, PART, brought, lambda found: tell(found, at))

        forward.when_settled(settled)


def _spread(images: Tensor) -> Tensor:
    """Images spread evenly over the batch; of large ones, pixels spread evenly over each."""
    some = images[:: -(-len(images) // _MOST_IMAGES)]
    apart = max(1, math.isqrt(some.numel() // _MOST_PIXELS))
    return some[:, :, ::apart, ::apart]


def _rounded(numbers: list[float]) -> list[float]:
    return [float(f"{number:.9g}") for number in numbers]
