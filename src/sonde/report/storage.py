"""Store reports in the job's folder or in a file."""

import json
from pathlib import Path
from typing import Any

from sonde.atomic_file import write_atomically
from sonde.drawing.printable import safe_json
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
    """Write the page to a file and its data next to it; return the path of the data."""
    data = file.with_suffix(".json")
    write_atomically(data, lambda sink: _write(sink, _json(report.document)))
    write_atomically(file, lambda sink: _write(sink, report.html.encode()))
    return data


def _write(sink: Any, content: bytes) -> None:
    sink.write(content)


def _json(document: Any) -> bytes:
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False, default=str)
    return f"{safe_json(text)}\n".encode()
