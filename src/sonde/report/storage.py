"""Where reports are kept: in the job's folder, or in files of one's choice."""

import json
from pathlib import Path
from typing import Any

from sonde.atomic_file import write_whole
from sonde.drawing.printable import safe_json
from sonde.report.build import Report
from sonde.store.backends import Backend
from sonde.store.layout import report_key
from sonde.store.removal import remove_remains

PAGE = "report.html"
DATA = "report.json"


def keep_report(report: Report, backend: Backend) -> str:
    """Writes it into the job's folder: the page, its data, and a file per rule."""
    for name, document in report.rules.items():
        if not name.isidentifier():  # somebody's text in the store, which must lead nowhere
            continue
        backend.write(report_key(f"rules/{name}.json"), _json(document))
    backend.write(report_key(DATA), _json(report.document))
    # last: where a page stands, the rest is as new
    backend.write(report_key(PAGE), report.html.encode())
    remove_remains(backend)  # where the job was removed meanwhile
    return f"{backend.uri.rstrip('/')}/{report_key(PAGE)}"


def has_report(backend: Backend) -> bool:
    """Whether one was written."""
    return backend.exists(report_key(PAGE))


def write_report(report: Report, file: Path) -> Path:
    """Writes the page to a file, and its data beside it; returns where that is."""
    data = file.with_suffix(".json")
    write_whole(data, lambda sink: _write(sink, _json(report.document)))
    write_whole(file, lambda sink: _write(sink, report.html.encode()))
    return data


def _write(sink: Any, content: bytes) -> None:
    sink.write(content)


def _json(document: Any) -> bytes:
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False, default=str)
    return f"{safe_json(text)}\n".encode()
