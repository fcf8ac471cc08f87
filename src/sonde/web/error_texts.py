"""What went wrong, for people at a browser: where the server's files are is not their concern."""

import re

_ABSOLUTE = re.compile(r"(?<![\w:/.~-])(?:file://)?/(?:[^/\s'\"]+/)+([^/\s'\"]*)")


def without_paths(text: str, store: str) -> str:
    """The text with names inside of the store, and no absolute paths of the server.

    Args:
        text: What an error says.
        store: The store that is served: a folder or a URI.
    """
    place = re.escape(store.removeprefix("file://").rstrip("/"))
    text = re.sub(rf"(?:file://)?{place}/", "", text)
    text = re.sub(rf"(?:file://)?{place}(?![\w-])", "the store", text)
    return _ABSOLUTE.sub(r"…/\1", text)
