"""Keep the page small: if it is too large, the largest charts lose their data first."""

import json
from collections.abc import Callable, Mapping

from sonde.records.chart import Spec

_MARKUP_BYTES = 200  # of the element around the data of a chart


def fit_page(
    render: Callable[[set[str] | None], str], specs: Mapping[str, Spec], max_bytes: int
) -> str:
    """Render the page with the data of as many charts as fit.

    Args:
        render: Renders the page with the data of the named charts; None means all of them.
        specs: The charts.
        max_bytes: Size limit of the page.
    """
    html = render(None)
    if len(html.encode()) <= max_bytes:
        return html
    sizes = {name: len(json.dumps(spec.document())) for name, spec in specs.items()}
    room = max_bytes - len(render(set()).encode())
    interactive: set[str] = set()
    for name, size in sorted(sizes.items(), key=lambda item: item[1]):
        room -= size + _MARKUP_BYTES
        if room < 0:
            break
        interactive.add(name)
    return render(interactive)
