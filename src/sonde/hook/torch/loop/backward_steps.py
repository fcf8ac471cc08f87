"""Steps of loops without a torch optimizer, counted by backward passes.

A script may update its weights directly or with a custom optimizer. A step then ends with its last
backward pass, which is recognized when the next pass begins: if the weights have changed by then,
the previous pass was the last; if not, the passes accumulate gradients. For weights on a device,
whose values are never read, an in-place update or cleared gradients indicate a change.
"""

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn

from sonde.hook.session import Session
from sonde.hook.steps import BY_BACKWARD
from sonde.hook.torch.loop.losses import Losses
from sonde.hook.torch.loop.modules import Modules
from sonde.hook.torch.loop.optimizers import Optimizers
from sonde.hook.torch.patching.names import Names
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.tensor_samples import ELEMENTS, can_sample
from sonde.records.notice import NoticeKind

_MAX_NODES = 20_000  # graph nodes searched for leaves
_COMPARED_LEAVES = 4  # evenly spaced
_MIN_UPDATES = 50  # before counting, if there is an optimizer that may still step

_version_of = attrgetter("_version")  # counts in-place changes
_variable_of = attrgetter("variable")


@dataclass(slots=True)
class _LeafState:
    """A leaf and its gradient at the end of a backward pass."""

    leaf: "weakref.ref[Tensor]"
    version: int
    values: list[float] | None
    gradient: "weakref.ref[Tensor] | None"
    gradient_version: int

    @classmethod
    def of(cls, leaf: Tensor) -> "_LeafState":
        """Capture the current state."""
        gradient = leaf.grad
        return cls(
            weakref.ref(leaf),
            _version_of(local(leaf)),
            _sample_values(leaf),
            None if gradient is None else weakref.ref(gradient),
            0 if gradient is None else _version_of(local(gradient)),
        )

    def is_updated(self) -> bool:
        """Whether the weights have changed since the capture."""
        leaf = self.leaf()
        if leaf is None or _version_of(local(leaf)) != self.version:
            return True
        return self.values is not None and _sample_values(leaf) != self.values

    def is_cleared(self) -> bool:
        """Whether the gradient has changed since the capture."""
        leaf = self.leaf()
        gradient = None if leaf is None else leaf.grad
        before = None if self.gradient is None else self.gradient()
        if gradient is None or gradient is not before:
            return True
        return bool(_version_of(local(gradient)) != self.gradient_version)


class _LeafOptimizer:
    """Replaces an optimizer in calls of update listeners."""

    def __init__(self, leaves: list[Tensor]) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": leaves}]
        self.state: dict[Tensor, Any] = {}


class BackwardSteps:
    """Counts steps from the first update that no torch optimizer made."""

    def __init__(
        self,
        session: Session,
        modules: Modules,
        names: Names,
        losses: Losses,
        optimizers: Optimizers,
    ) -> None:
        self._session = session
        self._steps = session.steps
        self._modules = modules
        self._names = names
        self._losses = losses
        self._optimizers = optimizers
        self.listeners: list[Callable[[Any, int], None]] = []
        self._is_over = False  # an optimizer has stepped
        self._reset()
        session.listeners.on_begin(self._reset)

    def _reset(self) -> None:
        self._is_on = False
        self._states: list[_LeafState] = []
        self._named_leaves: list[int] = []  # identities of named leaves
        self._graph_leaves: list[Tensor] = []  # found in the graph of the current pass
        self._passes = 0  # in the current step
        self._expected = 1  # passes in the previous step
        self._updates = 0  # detected

    def backward_begins(self, roots: Any) -> None:
        """End the step if the previous pass was its last."""
        if self._is_over or self._steps.is_explicit:
            self.optimizer_steps()
            return
        self._modules.refresh()
        if self._passes and self._was_used():
            self._updates += 1
            if self._is_on:
                self._end_step()
            elif self._updates >= (_MIN_UPDATES if self._optimizers.alive else 1):
                self._begin()
        self._graph_leaves = [] if self._has_modules() else list(_leaves_of(roots))

    def backward_ends(self) -> None:
        """Capture leaf states; all gradients of the pass are available."""
        if self._is_over or self._steps.is_explicit:
            return
        self._passes += 1
        leaves = self._graph_leaves or [
            parameter for parameter in self._parameters() if parameter.grad is not None
        ]
        self._graph_leaves = []
        every = -(-len(leaves) // _COMPARED_LEAVES) or 1
        self._states = [_LeafState.of(leaf) for leaf in leaves[::every]]
        if self._is_on:
            self._inspect(leaves)
            self._count()

    def optimizer_steps(self) -> None:
        """Stop counting: a torch optimizer steps, or the script calls `sonde.step()`."""
        if not self._is_over:
            self._is_over = True
            self._states = []
            if self._is_on:
                self._is_on = False
                self._steps.stop_counting_backward()
                self._report("counted by backward passes until a torch optimizer stepped")

    def _has_modules(self) -> bool:
        """Whether gradients belong to modules; before the first pass, whether they could."""
        parameters = self._parameters()
        if not self._passes:
            return any(parameter.requires_grad for parameter in parameters)
        return any(parameter.grad is not None for parameter in parameters)

    def _parameters(self) -> Iterator[nn.Parameter]:
        """Parameters of all models; none if other threads train, perhaps some of these."""
        roots = self._modules.roots if self._session.thread.is_alone else ()
        return (parameter for root in roots for parameter in root.parameters())

    def _was_used(self) -> bool:
        states = self._states
        if any(state.is_updated() for state in states):
            return True
        if self._optimizers.alive or any(state.values is not None for state in states):
            return False
        # device values are not compared: until an update is detected, each pass counts as a step
        return any(state.is_cleared() for state in states) or not self._updates

    def _begin(self) -> None:
        self._is_on = True
        self._report("counted by backward passes: no torch optimizer has stepped")
        if self._optimizers.alive:  # earlier passes cannot be assigned to steps anymore
            self._losses.discard()
            self._steps.discard_open()
            self._passes = 0
            return
        self._count()
        self._end_step()

    def _count(self) -> None:
        self._steps.count_backward(self._passes - self._losses.surplus)

    def _end_step(self) -> None:
        self._expected, self._passes = self._passes, 0
        self._steps.optimizer_begins(BY_BACKWARD)

    def _inspect(self, leaves: list[Tensor]) -> None:
        """Notify update listeners at the last pass of the step, assuming a constant pass count."""
        if self._passes != self._expected:
            return
        identities = [id(leaf) for leaf in leaves]
        if identities != self._named_leaves:
            self._named_leaves = identities
            self._names.learn(self._modules.roots)
            self._names.name_leaves(leaves)
            self._modules.owned.update(identities)
        # created for each step: a stored stand-in would keep the weights alive
        stand_in = _LeafOptimizer(leaves)
        for listener in self.listeners:
            listener(stand_in, 0)

    def _report(self, description: str) -> None:
        self._session.store.notice(NoticeKind.CHANGED, "training steps", description)


def _sample_values(tensor: Tensor) -> list[float] | None:
    """Evenly spaced elements of a CPU tensor; None for device tensors."""
    values = local(tensor).detach()
    if not values.is_cpu or not can_sample(values):
        return None
    with torch.no_grad():
        flat = values.reshape(-1)
        sample: list[float] = flat[:: max(1, len(flat) // ELEMENTS)].tolist()
    return sample


def _leaves_of(roots: Any) -> Iterator[Tensor]:
    """Leaf tensors whose gradients a backward pass accumulates."""
    tensors = roots if isinstance(roots, list | tuple) else [roots]
    stack = [
        tensor.grad_fn
        for tensor in tensors
        if isinstance(tensor, Tensor) and tensor.grad_fn is not None
    ]
    visited = set(stack)
    while stack and len(visited) < _MAX_NODES:
        node = stack.pop()
        if hasattr(node, "variable"):
            yield _variable_of(node)
        for following, _ in node.next_functions:
            if following is not None and following not in visited:
                visited.add(following)
                stack.append(following)
