"""Module hooks that do not appear in copies, pickles or TorchScript of a model."""

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from torch import nn
from torch.jit import _recursive

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.torch.patching.patches import Patches
from sonde.hook.torch.patching.uncompiled import skip_in_compiler

PreHook = Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], None]
PostHook = Callable[[nn.Module, tuple[Any, ...], dict[str, Any], Any], None]

_HOOKS = ("_forward_pre_hooks", "_forward_hooks")


class Hooks:
    """All hooks that Sonde has registered on modules of the script."""

    def __init__(self) -> None:
        self._handles: list[Any] = []
        self._removed: list[_RemovedHook] = []

    def attach(self, patches: Patches) -> None:
        """Hide the hooks from pickling and TorchScript."""
        patches.wrap(nn.Module, "__reduce_ex__", _wrap_reduce)
        patches.wrap(_recursive, "create_script_module", _wrap_scripting)

    def put(self, module: nn.Module, before: PreHook | None, after: PostHook | None) -> None:
        """Register functions to call before and after each forward of a module."""
        # through the class: scripted modules override these methods to raise
        if before is not None:
            skip_in_compiler(before)
            register = nn.Module.register_forward_pre_hook
            self._handles.append(register(module, before, with_kwargs=True))
        if after is not None:
            skip_in_compiler(after)
            self._handles.append(nn.Module.register_forward_hook(module, after, with_kwargs=True))

    def take_out(self) -> None:
        """Remove all hooks until `put_back`, so that module calls cost nothing extra."""
        if not self._removed:
            self._removed = [
                removed
                for handle in self._handles
                if (removed := _RemovedHook.of(handle)) is not None
            ]

    def put_back(self) -> None:
        """Restore the removed hooks."""
        removed_hooks, self._removed = self._removed, []
        for removed in removed_hooks:
            removed.put_back()

    def remove(self) -> None:
        """Remove all hooks permanently."""
        self._removed = []
        for handle in self._handles:
            handle.remove()
        self._handles.clear()


class _RemovedHook(NamedTuple):
    """A temporarily removed hook."""

    key: int
    hook: Any
    hooks: Any  # weak reference to the module's hook dictionary
    flags: tuple[Any, ...]

    @classmethod
    def of(cls, handle: Any) -> "_RemovedHook | None":
        """Remove a hook from its module; None if it is already gone."""
        key, hooks = handle.id, handle.hooks_dict_ref()
        if hooks is None or key not in hooks:
            return None
        flags = [
            flag for ref in handle.extra_dict_ref if (flag := ref()) is not None and key in flag
        ]
        for flag in flags:
            del flag[key]
        references = tuple(map(weakref.ref, flags))
        return cls(key, hooks.pop(key), handle.hooks_dict_ref, references)

    def put_back(self) -> None:
        """Restore the hook if its module still exists."""
        hooks = self.hooks()
        if hooks is not None:
            hooks[self.key] = self.hook
            for reference in self.flags:
                if (flags := reference()) is not None:
                    flags[self.key] = True


def _is_ours(hook: Any) -> bool:
    return str(getattr(hook, "__module__", "")).startswith("sonde.")


def _wrap_reduce(_original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `__reduce_ex__` to omit the hooks from the pickled or copied state of a module."""

    def reduced(module: nn.Module, protocol: Any) -> Any:
        # another base class may define __reduce_ex__
        return _without_our_hooks(super(nn.Module, module).__reduce_ex__(protocol))

    return reduced


def _without_our_hooks(state: Any) -> Any:
    if type(state) is tuple:
        return tuple([_without_our_hooks(item) for item in state])
    for kind in _HOOKS if isinstance(state, dict) and _HOOKS[0] in state else ():
        ours = [key for key, hook in state[kind].items() if _is_ours(hook)]
        for name in (kind, f"{kind}_with_kwargs") if ours else ():
            remaining = OrderedDict(
                (key, item) for key, item in state[name].items() if key not in ours
            )
            state = {**state, name: remaining}
    return state


def _wrap_scripting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap scripting so that it sees no hooks, because TorchScript would compile them."""

    def create_script_module(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        with _hooks_removed(module):
            try:
                return original(module, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise

    return create_script_module


@contextmanager
def _hooks_removed(root: nn.Module) -> Iterator[None]:
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
