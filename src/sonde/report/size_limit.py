"""Keeps a page small: where it is too large, pictures lose their data, the largest first."""

import json
from collections.abc import Callable, Mapping

from sonde.records.chart import Spec


def trimmed(
    written: Callable[[set[str] | None], str], specs: Mapping[str, Spec], most_bytes: int
) -> str:
    """The page with the data of all its charts, or of as many as there is room for.

    Args:
        written: Writes the page with the data of some charts; None is all of them.
        specs: The charts.
        most_bytes: How large it may be.
    """
    html = written(None)
    if len(html.encode()) <= most_bytes:
        return html
    sizes = {name: len(json.dumps(spec.document())) for name, spec in specs.items()}
    room = most_bytes - len(written(set()).encode())
    kept: set[str] = set()
    for name, size in sorted(sizes.items(), key=lambda one: one[1]):
        room -= size + 200  # what stands around it
        if room < 0:
            break
        kept.add(name)
    return written(kept)
