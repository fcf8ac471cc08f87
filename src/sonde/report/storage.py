"""Store reports in the job's folder or in a file."""

import json
from pathlib import Path
from typing import Any

from sonde.atomic_file import write_atomically
from sonde.drawing.printable import safe_json
from sonde.errors import UsageError
from sonde.report.build import Report
from sonde.store.backends import Backend
from sonde.store.layout import report_key
from sonde.store.removal import remove_remains

PAGE = "report.html"
DATA = "report.json"


def store_report(report: Report, backend: Backend) -> str:
    """Write the page, its data and a file per rule into the job's folder; return its URI."""
    for name, document in report.rules.items():
        if not name.isidentifier():  # the name comes from the store and must not escape the folder
            continue
        backend.write(report_key(f"rules/{name}.json"), _json(document))
    backend.write(report_key(DATA), _json(report.document))
    # last: a page implies that all other files are complete
    backend.write(report_key(PAGE), report.html.encode())
    remove_remains(backend)  # if the job was removed in the meantime
    return f"{backend.uri.rstrip('/')}/{report_key(PAGE)}"


def has_report(backend: Backend) -> bool:
    """Whether the job's folder contains a report."""
    return backend.exists(report_key(PAGE))


def write_report(report: Report, file: Path) -> Path:
    """Write the page to a file and its data next to it; return the path of the data.

    Raises:
        UsageError: The name of the data is that of a file that is not a report.
    """
    data = file.with_suffix(".json")
    if data.exists() and not _is_report(data):
        raise UsageError(
            f"The data of the report would replace {data}, which is not a report. "
            "Choose another name for the output file."
        )
    write_atomically(data, lambda sink: _write(sink, _json(report.document)))
    write_atomically(file, lambda sink: _write(sink, report.html.encode()))
    return data


def _is_report(data: Path) -> bool:
    """Whether a file is empty, a device, or the data of a report."""
    if not data.is_file() or not data.stat().st_size:
        return True
    try:
        document = json.loads(data.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and {"sonde", "job", "written"} <= document.keys()


def _write(sink: Any, content: bytes) -> None:
    sink.write(content)


def _json(document: Any) -> bytes:
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False, default=str)
    return f"{safe_json(text)}\n".encode()
