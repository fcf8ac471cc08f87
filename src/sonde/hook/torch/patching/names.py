"""Names that a person recognizes, stable across wrappers: `fc1.weight`, not `module._orig_mod…`."""

import weakref
from collections.abc import Iterable, Iterator
from inspect import currentframe
from types import FrameType

from torch import Tensor, nn
from torch.optim import Optimizer

from sonde.hook.torch.patching.identities import IdentityMap
from sonde.masking import mask_name

# wrappers whose one child is the model itself
_WRAPPERS = {
    "CheckpointWrapper": "_checkpoint_wrapped_module",
    "DataParallel": "module",
    "DistributedDataParallel": "module",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "OptimizedModule": "_orig_mod",
}
_FRAMES = 40
_MOST_PLACES = 256  # of a list that is searched for a tensor


def wrapped_by(module: nn.Module) -> nn.Module | None:
    """The model inside a wrapper; None where the module is none."""
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
    """The modules that no other one contains."""
    known = list(modules)
    inside = {id(child) for module in known for child in module.children()}
    return [module for module in known if id(module) not in inside]


def walk(root: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """All modules below a root with their names, each once, wrappers left out."""
    seen: set[int] = set()
    stack = [(prefix, unwrapped(root))]
    while stack:
        name, module = stack.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield name, module
        before = f"{name}." if name else ""
        children = [
            (f"{before}{mask_name(child_name)}", unwrapped(child))
            for child_name, child in module.named_children()
        ]
        stack += reversed(children)


class Names:
    """Which name each parameter and each module has."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[weakref.ref[Tensor], str]] = {}
        self._roots: dict[int, str] = {}
        self._modules: IdentityMap[nn.Module, str] = IdentityMap()

    def learn(self, roots: list[nn.Module]) -> None:
        """Names everything below these modules; what has a name already keeps it."""
        with_parameters = [root for root in roots if any(True for _ in root.parameters())]
        for root in with_parameters:
            model = unwrapped(root)
            if id(model) not in self._roots:
                is_alone = len(with_parameters) == 1 and not self._roots
                self._roots[id(model)] = "" if is_alone else self._title(model)
            for prefix, module in walk(root, self._roots[id(model)]):
                if module not in self._modules:
                    self._modules[module] = prefix
                for given, parameter in module.named_parameters(recurse=False):
                    own = mask_name(given)
                    self._add(f"{prefix}.{own}" if prefix else own, parameter)

    def name_of(self, parameter: Tensor) -> str | None:
        """The parameter's name, if a module has it."""
        known = self._names.get(id(parameter))
        return known[1] if known is not None and known[0]() is parameter else None

    def module_name_of(self, module: nn.Module) -> str | None:
        """The module's name, if it belongs to a model; empty for a single model itself."""
        return self._modules.get(module)

    def stem_of(self, root: nn.Module, what: str) -> str:
        """How the names of a model's inputs or outputs begin."""
        name = self._modules.get(unwrapped(root))
        return f"{name}_{what}" if name else what

    def prefix_of(self, root: nn.Module) -> str:
        """What stands before the names below a root; empty for a single model."""
        return self._roots.get(id(unwrapped(root)), "")

    def adopt(self, optimizer: Optimizer, index: int) -> None:
        """Names parameters of an optimizer that no module has."""
        for group, settings in enumerate(optimizer.param_groups):
            for place, parameter in enumerate(settings["params"]):
                if self.name_of(parameter) is None:
                    self._add(f"optimizer_{index}.group_{group}.{place}", parameter)

    def name_leaves(self, leaves: list[Tensor]) -> None:
        """Names tensors that neither a module nor an optimizer has."""
        for place, leaf in enumerate(leaves):
            if self.name_of(leaf) is None:
                self._add(_variable_with(leaf) or f"parameter_{place}", leaf)

    def _add(self, name: str, parameter: Tensor) -> None:
        if self.name_of(parameter) is None:
            self._names[id(parameter)] = (weakref.ref(parameter), name)

    def _title(self, model: nn.Module) -> str:
        """What the script calls a model, else the name of its class."""
        title = _variable_that_holds(model) or type(model).__name__.lower()
        taken, number = set(self._roots.values()), 1
        unique = title
        while unique in taken:
            number += 1
            unique = f"{title}_{number}"
        return unique


def callers() -> Iterator[FrameType]:
    """Who has called the one who asks, from the inside out, not too far."""
    frame = currentframe()
    for _ in range(2):  # a frame that looks at its own variables would keep itself alive
        frame = frame and frame.f_back
    for _ in range(_FRAMES):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _variable_that_holds(model: nn.Module) -> str | None:
    for frame in callers():
        for name, value in list(frame.f_locals.items()):
            if isinstance(value, nn.Module) and not name.startswith("_") and name != "self":
                is_it = value is model or unwrapped(value) is model
                if is_it and not is_inside(frame):
                    return name
    return None


def _variable_with(leaf: Tensor) -> str | None:
    """What the script calls a tensor, or its place in a list or a dictionary of the script."""
    for frame in callers():
        for name, value in [] if is_inside(frame) else list(frame.f_locals.items()):
            if value is leaf:
                return name
            found = _place_in(value, leaf)
            if found is not None:
                return f"{name}.{found}"
    return None


def _place_in(value: object, leaf: Tensor) -> object:
    """The index or the key of a tensor; None where it is not in there."""
    if isinstance(value, list | tuple):
        return next((place for place, one in enumerate(value[:_MOST_PLACES]) if one is leaf), None)
    if type(value) is dict and len(value) <= _MOST_PLACES:
        return next((key for key, one in value.items() if one is leaf), None)
    return None


def is_inside(frame: FrameType) -> bool:
    """Whether a frame is PyTorch's or ours, where names mean nothing to the script."""
    return str(frame.f_globals.get("__name__", "")).startswith(("sonde.", "torch."))
