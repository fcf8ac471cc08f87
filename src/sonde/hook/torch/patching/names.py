"""Readable names, stable across wrappers: `fc1.weight`, not `module._orig_mod…`."""

import weakref
from collections.abc import Iterable, Iterator
from inspect import currentframe
from types import FrameType

from torch import Tensor, nn
from torch.optim import Optimizer

from sonde.hook.torch.patching.identities import IdentityMap
from sonde.masking import mask_name

# wrapper classes, and the attribute that holds the model
_WRAPPERS = {
    "CheckpointWrapper": "_checkpoint_wrapped_module",
    "DataParallel": "module",
    "DistributedDataParallel": "module",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "OptimizedModule": "_orig_mod",
}
_MAX_FRAMES = 40
_MAX_ITEMS = 256  # of a list or dictionary searched for a tensor


def wrapped_by(module: nn.Module) -> nn.Module | None:
    """The model inside a wrapper, or None if the module is not a wrapper."""
    for kind in type(module).__mro__:
        if kind.__name__ in _WRAPPERS:
            return dict(module.named_children()).get(_WRAPPERS[kind.__name__])
    return None


def unwrapped(module: nn.Module) -> nn.Module:
    """The model inside all wrappers."""
    while (inner := wrapped_by(module)) is not None:
        module = inner
    return module


def outermost(modules: Iterable[nn.Module]) -> list[nn.Module]:
    """The modules that are not children of another module."""
    candidates = list(modules)
    inside = {id(child) for module in candidates for child in module.children()}
    return [module for module in candidates if id(module) not in inside]


def walk(root: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Yield each module below a root once, with its name; wrappers are skipped."""
    visited: set[int] = set()
    stack = [(prefix, unwrapped(root))]
    while stack:
        name, module = stack.pop()
        if id(module) in visited:
            continue
        visited.add(id(module))
        yield name, module
        parent = f"{name}." if name else ""
        children = [
            (f"{parent}{mask_name(child_name)}", unwrapped(child))
            for child_name, child in module.named_children()
        ]
        stack += reversed(children)


class Names:
    """The names of parameters and modules."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[weakref.ref[Tensor], str]] = {}
        self._roots: dict[int, str] = {}
        self._modules: IdentityMap[nn.Module, str] = IdentityMap()

    def learn(self, roots: list[nn.Module]) -> None:
        """Name all modules and parameters below the roots; existing names are kept."""
        with_parameters = [root for root in roots if any(True for _ in root.parameters())]
        for root in with_parameters:
            model = unwrapped(root)
            if id(model) not in self._roots:
                is_alone = len(with_parameters) == 1 and not self._roots
                self._roots[id(model)] = "" if is_alone else self._title(model)
            for prefix, module in walk(root, self._roots[id(model)]):
                if module not in self._modules:
                    self._modules[module] = prefix
                for parameter_name, parameter in module.named_parameters(recurse=False):
                    masked_name = mask_name(parameter_name)
                    self._add(f"{prefix}.{masked_name}" if prefix else masked_name, parameter)

    def name_of(self, parameter: Tensor) -> str | None:
        """The name of a parameter, or None."""
        entry = self._names.get(id(parameter))
        return entry[1] if entry is not None and entry[0]() is parameter else None

    def module_name_of(self, module: nn.Module) -> str | None:
        """The name of a module, or None; empty for the only model itself."""
        return self._modules.get(module)

    def stem_of(self, root: nn.Module, what: str) -> str:
        """The prefix of the names of a model's inputs or outputs."""
        name = self._modules.get(unwrapped(root))
        return f"{name}_{what}" if name else what

    def prefix_of(self, root: nn.Module) -> str:
        """The prefix of names below a root; empty for the only model."""
        return self._roots.get(id(unwrapped(root)), "")

    def adopt(self, optimizer: Optimizer, index: int) -> None:
        """Name optimizer parameters that belong to no module."""
        for group, settings in enumerate(optimizer.param_groups):
            for position, parameter in enumerate(settings["params"]):
                if self.name_of(parameter) is None:
                    self._add(f"optimizer_{index}.group_{group}.{position}", parameter)

    def name(self, parameter: Tensor, name: str) -> None:
        """Name a parameter, unless it has a name."""
        self._add(mask_name(name), parameter)

    def name_leaves(self, leaves: list[Tensor]) -> None:
        """Name tensors that belong to no module or optimizer."""
        for position, leaf in enumerate(leaves):
            if self.name_of(leaf) is None:
                self._add(_variable_name_of(leaf) or f"parameter_{position}", leaf)

    def _add(self, name: str, parameter: Tensor) -> None:
        if self.name_of(parameter) is None:
            self._names[id(parameter)] = (weakref.ref(parameter), name)

    def _title(self, model: nn.Module) -> str:
        """The script's variable name of a model, or its class name."""
        title = _variable_that_holds(model) or type(model).__name__.lower()
        titles, number = set(self._roots.values()), 1
        unique = title
        while unique in titles:
            number += 1
            unique = f"{title}_{number}"
        return unique


def callers() -> Iterator[FrameType]:
    """Yield the frames above the caller, innermost first, up to a limit."""
    frame = currentframe()
    for _ in range(2):  # reading f_locals of this frame would create a reference cycle
        frame = frame and frame.f_back
    for _ in range(_MAX_FRAMES):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _variable_that_holds(model: nn.Module) -> str | None:
    for frame in callers():
        for name, value in list(frame.f_locals.items()):
            if isinstance(value, nn.Module) and not name.startswith("_") and name != "self":
                is_match = value is model or unwrapped(value) is model
                if is_match and not is_inside(frame):
                    return name
    return None


def _variable_name_of(leaf: Tensor) -> str | None:
    """The script's variable name of a tensor, or of the list or dictionary that holds it."""
    for frame in callers():
        for name, value in [] if is_inside(frame) else list(frame.f_locals.items()):
            if value is leaf:
                return name
            key = _key_in(value, leaf)
            if key is not None:
                return f"{name}.{key}"
    return None


def _key_in(value: object, leaf: Tensor) -> object:
    """The index or key of a tensor, or None."""
    if isinstance(value, list | tuple):
        return next((index for index, item in enumerate(value[:_MAX_ITEMS]) if item is leaf), None)
    if type(value) is dict and len(value) <= _MAX_ITEMS:
        return next((key for key, item in value.items() if item is leaf), None)
    return None


def is_inside(frame: FrameType) -> bool:
    """Whether a frame belongs to PyTorch or Sonde."""
    return str(frame.f_globals.get("__name__", "")).startswith(("sonde.", "torch."))
