"""Error messages for the browser, without paths of the server."""

import re

_ABSOLUTE = re.compile(r"(?<![\w:/.~-])(?:file://)?/(?:[^/\s'\"]+/)+([^/\s'\"]*)")


def without_paths(text: str, store: str) -> str:
    """Replace paths in the store by relative names, and shorten other absolute paths.

    Args:
        text: An error message.
        store: The folder or URI of the served store.
    """
    prefix = re.escape(store.removeprefix("file://").rstrip("/"))
    text = re.sub(rf"(?:file://)?{prefix}/", "", text)
    text = re.sub(rf"(?:file://)?{prefix}(?![\w-])", "the store", text)
    return _ABSOLUTE.sub(r"…/\1", text)
