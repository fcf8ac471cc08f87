"""Which files in a job's folder Sonde writes, and what each of them contains.

Only these files are ever removed.
"""

import re

from sonde.clock import NANOSECONDS
from sonde.store.format import FAMILIES
from sonde.store.layout import (
    LIVE_SUFFIX,
    MANIFEST_SUFFIX,
    ROLLUP_SUFFIX,
    SEALED_SUFFIX,
    SegmentName,
)

_SEGMENT = (
    r"\d{20}-[\w-]+("
    + "|".join(
        re.escape(suffix) for suffix in (LIVE_SUFFIX, ROLLUP_SUFFIX, SEALED_SUFFIX, MANIFEST_SUFFIX)
    )
    + ")"
)
_PROFILE = r"[a-z_]+--?\d+-\w+(\.[\w.]+)?"
_DOCUMENTS = {
    "job": "name and creation time of the job",
    "exit": "exit state",
    "removed": "files removed by the disk budget",
    "summary": "summary for lists of jobs",
    "annotations": "tags, group and note",
    "start": "start",
    "surroundings": "machine, versions and environment",
    "heartbeat": "last heartbeat",
    "closing": "list of recorded files",
    "sent": "marker that everything was sent",
    "beat": "last heartbeat and step counts",
    "tensors": "list of tensors",
    "failure": "uncaught exception",
    "evaluations": "results of the rules",
    "actions": "actions taken",
    "written": "list of recorded findings",
    "claim": "claim of the attempt",
    "handed-on": "exception of a child process",
    "checkpoints": "list of saved checkpoints",
    "lease": "lease of the rules engine",
    "progress": "progress of the rules",
    "verdict": "verdict of the rules",
    "cost": "cost of the reports",
    "writing": "marker of a report that is being written",
}
_DOCUMENT = "(?P<document>" + "|".join(_DOCUMENTS) + r")(-[\w.-]+)?\.json"
_FAMILY = "(?P<family>" + "|".join(FAMILIES) + ")"
_NODE = r"nodes/(?P<node>[^/]+)"
_WORKER = r"workers/(?P<worker>\d+)"

_FILES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?P<document>job|exit|removed|summary|annotations)\.json",
        rf"{_NODE}/attempt-\d+/({_DOCUMENT}|reserve(-\d)?)",
        rf"{_NODE}/attempt-\d+/(?P<folder>frameworks)/[a-z]+-[^/]*",
        rf"{_NODE}/{_FAMILY}/{_SEGMENT}",
        rf"{_WORKER}/attempt-\d+\.\d+/{_DOCUMENT}",
        rf"{_WORKER}/(?P<document>checkpoints)\.json",
        rf"{_WORKER}/{_FAMILY}/{_SEGMENT}",
        rf"{_WORKER}/(?P<folder>values)/[a-z]+--?\d+-\w+\.safetensors",
        rf"{_WORKER}/(?P<folder>profiles)/{_PROFILE}",
        rf"{_WORKER}/(?P<folder>decoded)/[0-9a-f]{{8}}\.json",
        rf"rules/{_DOCUMENT}",
        rf"findings/{_FAMILY}/{_SEGMENT}",
        r"control/(requests|replies)/[\w.-]+\.json",
        r"report/report\.(html|json)",
        r"report/(?P<document>cost|writing)\.json",
        r"report/rules/[\w.-]+\.json",
    )
)
_FOLDER = re.compile(r"((nodes|workers|rules|findings|control|report)(/.*)?)?/")

_FOLDERS = {
    "values": "tensor values",
    "profiles": "a profile",
    "decoded": "list of files decoded from a profile",
    "frameworks": "a framework, or why the hook was not loaded",
}


def is_ours(key: str) -> bool:
    """Whether Sonde writes files with this key; folders end in a slash."""
    if key.endswith("/"):
        return _FOLDER.fullmatch(key) is not None
    return _match(key) is not None


def describe(key: str) -> str:
    """Describe the content of a job's file for messages."""
    match = _match(key)
    if match is None:
        return key
    groups = match.groupdict()
    family, document = groups.get("family"), groups.get("document")
    if family:
        what = FAMILIES[family].label
    elif document:
        what = _DOCUMENTS.get(document, document)
    else:
        what = _FOLDERS.get(groups.get("folder") or "", key)
    if groups.get("worker") is not None:
        return f"{what} of worker {groups['worker']}"
    return f"{what} of node {groups['node']}" if groups.get("node") is not None else what


def start_of(key: str) -> int | None:
    """The start time in a segment's file name; None for other files."""
    name = SegmentName.parse(key.rpartition("/")[2].partition(".")[0])
    return None if name is None or name.start_ns < NANOSECONDS else name.start_ns


def _match(key: str) -> re.Match[str] | None:
    return next((match for pattern in _FILES if (match := pattern.fullmatch(key))), None)
