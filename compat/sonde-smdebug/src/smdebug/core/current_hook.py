"""The hook of this process, and the hook that records in it."""

import atexit
import os
from typing import Any, ClassVar, Protocol


class _Hook(Protocol):
    """What ends a recording."""

    @property
    def has_unwritten(self) -> bool: ...

    def flush(self) -> None: ...

    def finish(self) -> None: ...

    def close(self) -> None: ...


class CurrentHook:
    """The hook that `get_hook` returns; a process records one job at a time."""

    created: ClassVar[Any] = None
    _recording: ClassVar[_Hook | None] = None

    @classmethod
    def replace(cls, hook: _Hook | None) -> None:
        """Make this the hook of the process."""
        cls.created = hook

    @classmethod
    def begin(cls, hook: _Hook) -> None:
        """Close the previous hook."""
        previous = cls.recording()
        if previous is not None and previous is not hook:
            previous.close()
        cls._recording = hook

    @classmethod
    def recording(cls) -> _Hook | None:
        """The hook that records."""
        return cls._recording

    @classmethod
    def ended(cls, hook: _Hook) -> None:
        """Forget a hook that was closed."""
        if cls.recording() is hook:
            cls._recording = None


def get_hook(hook_type: Any, json_config_path: str | None, *, create_if_not_exists: bool) -> Any:
    """The hook of this process, created from a configuration file if requested."""
    if CurrentHook.created is None and create_if_not_exists:
        if os.environ.get("USE_SMDEBUG", "").lower() in ("0", "false"):
            return None
        CurrentHook.replace(hook_type.create_from_json_file(json_config_path))
    return CurrentHook.created


def set_hook(custom_hook: Any) -> None:
    """Make this the hook of the process."""
    CurrentHook.replace(custom_hook)


def del_hook() -> None:
    """Forget the hook of the process."""
    CurrentHook.replace(None)


@atexit.register
def _finish() -> None:
    """Complete the recording at the end of the process."""
    hook = CurrentHook.recording()
    if hook is not None:
        hook.finish()
