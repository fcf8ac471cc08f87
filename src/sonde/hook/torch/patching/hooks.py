"""Hooks on modules that leave no trace: not in copies and files of a model, nor in its scripts."""

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from torch import nn
from torch.jit import _recursive

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.torch.patching.patches import Patches
from sonde.hook.torch.patching.uncompiled import leave_alone

Before = Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], None]
After = Callable[[nn.Module, tuple[Any, ...], dict[str, Any], Any], None]

_HOOKS = ("_forward_pre_hooks", "_forward_hooks")


class Hooks:
    """All hooks that we have put on modules of the script."""

    def __init__(self) -> None:
        self._handles: list[Any] = []
        self._out: list[_OutHook] = []

    def attach(self, patches: Patches) -> None:
        """Hides our hooks from those who would take them along."""
        patches.wrap(nn.Module, "__reduce_ex__", _without_hooks)
        patches.wrap(_recursive, "create_script_module", _scripting)

    def put(self, module: nn.Module, before: Before | None, after: After | None) -> None:
        """Calls a function before and one after every forward of a module."""
        # as methods of the class: those of scripted modules refuse
        if before is not None:
            leave_alone(before)
            register = nn.Module.register_forward_pre_hook
            self._handles.append(register(module, before, with_kwargs=True))
        if after is not None:
            leave_alone(after)
            self._handles.append(nn.Module.register_forward_hook(module, after, with_kwargs=True))

    def take_out(self) -> None:
        """Take all hooks off their modules until `put_back`: calls cost nothing extra then."""
        if not self._out:
            self._out = [
                one for handle in self._handles if (one := _OutHook.of(handle)) is not None
            ]

    def put_back(self) -> None:
        """Put all hooks back that were taken out."""
        out, self._out = self._out, []
        for one in out:
            one.put_back()

    def remove(self) -> None:
        """Takes them all away."""
        self._out = []
        for handle in self._handles:
            handle.remove()
        self._handles.clear()


class _OutHook(NamedTuple):
    """A hook that was taken off its module for a while."""

    key: int
    hook: Any
    hooks: Any  # the module's own dictionary, which may be gone
    flags: tuple[Any, ...]

    @classmethod
    def of(cls, handle: Any) -> "_OutHook | None":
        """Take a hook off its module; None where somebody else has."""
        key, hooks = handle.id, handle.hooks_dict_ref()
        if hooks is None or key not in hooks:
            return None
        flags = [one for ref in handle.extra_dict_ref if (one := ref()) is not None and key in one]
        for one in flags:
            del one[key]
        references = tuple(map(weakref.ref, flags))
        return cls(key, hooks.pop(key), handle.hooks_dict_ref, references)

    def put_back(self) -> None:
        """Put it back, if the module still exists."""
        hooks = self.hooks()
        if hooks is not None:
            hooks[self.key] = self.hook
            for one in self.flags:
                if (flags := one()) is not None:
                    flags[self.key] = True


def _is_ours(hook: Any) -> bool:
    return str(getattr(hook, "__module__", "")).startswith("sonde.")


def _without_hooks(_original: Callable[..., Any]) -> Callable[..., Any]:
    """What is left of a module in a file or a copy, whoever says what its state is."""

    def reduced(module: nn.Module, protocol: Any) -> Any:
        # a class that is inherited beside Module may have a way of its own
        return _cleaned(super(nn.Module, module).__reduce_ex__(protocol))

    return reduced


def _cleaned(part: Any) -> Any:
    if type(part) is tuple:
        return tuple([_cleaned(one) for one in part])
    for kind in _HOOKS if isinstance(part, dict) and _HOOKS[0] in part else ():
        ours = [key for key, hook in part[kind].items() if _is_ours(hook)]
        for name in (kind, f"{kind}_with_kwargs") if ours else ():
            left = OrderedDict((key, one) for key, one in part[name].items() if key not in ours)
            part = {**part, name: left}
    return part


def _scripting(original: Callable[..., Any]) -> Callable[..., Any]:
    """TorchScript compiles the hooks of a module, too; ours are not there meanwhile."""

    def create_script_module(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        with _hooks_aside(module):
            try:
                return original(module, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise

    return create_script_module


@contextmanager
def _hooks_aside(root: nn.Module) -> Iterator[None]:
    aside = []
    for module in root.modules():
        for kind in _HOOKS:
            hooks = vars(module).get(kind, {})
            before = list(hooks.items())
            ours = [key for key, hook in before if _is_ours(hook)]
            for key in ours:
                del hooks[key]
            if ours:
                aside.append((hooks, before))
    try:
        yield
    finally:
        for hooks, before in aside:
            hooks.clear()
            hooks.update(before)
