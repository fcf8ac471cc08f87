"""The layout of a job's folder: keys of all documents and segments."""

import re
from dataclasses import dataclass

from sonde.errors import UsageError

JOB = "job.json"
EXIT = "exit.json"
SUMMARY = "summary.json"
ANNOTATIONS = "annotations.json"
REQUESTS = "control/requests"
REPLIES = "control/replies"
NODES = "nodes"
WORKERS = "workers"
FINDINGS_FOLDER = "findings"
RULES_FOLDER = "rules"
REPORT_FOLDER = "report"
SENT = "sent"  # marks an attempt whose data was sent completely

_LIFE = re.compile(r"attempt-([0-9]{1,9})\.([0-9]{1,9})")
_JOB_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


_MOST_DIGITS = 9


def check_name(name: str, what: str = "job") -> str:
    """Return the name if it is valid as a folder name in any store."""
    if not _JOB_NAME.fullmatch(name):
        raise UsageError(
            f"Invalid {what} name {name!r}. Use up to 128 letters, digits, '.', '_' and '-'; "
            "the first character must not be '.' or '-'."
        )
    return name


def is_number(text: str) -> bool:
    """Whether a folder name is a rank or an attempt number."""
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


def node_folder(node: str) -> str:
    """The folder of one node's launcher."""
    return f"{NODES}/{node}"


def worker_folder(rank: int) -> str:
    """The folder of one worker."""
    return f"{WORKERS}/{rank}"


def worker_key(rank: int, attempt: int, restart: int, what: str) -> str:
    """A document of one start of a worker: start, beat, tensors or failure."""
    return f"{worker_folder(rank)}/attempt-{attempt:03d}.{restart}/{what}.json"


def parse_life(folder: str) -> tuple[int, int] | None:
    """The attempt and restart of a folder of `worker_key`; None for other folders."""
    match = _LIFE.fullmatch(folder)
    return None if match is None else (int(match[1]), int(match[2]))


def checkpoints_key(rank: int) -> str:
    """The list of a worker's checkpoints, for resuming from one."""
    return f"{worker_folder(rank)}/checkpoints.json"


def attempt_key(node: str, number: int, what: str) -> str:
    """A document of one attempt on one node: start, surroundings, heartbeat or exit."""
    return f"{node_folder(node)}/attempt-{number:03d}/{what}.json"


def frameworks_folder(node: str, number: int) -> str:
    """Marker files of started processes: empty files name an imported framework and its version.

    A file named `unrecorded-…` contains the reason why the hook was not loaded.
    """
    return f"{node_folder(node)}/attempt-{number:03d}/frameworks"


def reserve_key(node: str, number: int) -> str:
    """Reserved disk space for the documents at the end of an attempt."""
    return f"{node_folder(node)}/attempt-{number:03d}/reserve"


def report_key(file: str) -> str:
    """A file of the job's report."""
    return f"{REPORT_FOLDER}/{file}"


def rules_key(what: str) -> str:
    """A document about the rules of a job: their results or progress."""
    return f"{RULES_FOLDER}/{what}.json"


FINDINGS_LIST = rules_key("written")


def request_key(request_id: str) -> str:
    """A request to the job."""
    return f"{REQUESTS}/{request_id}.json"


def reply_key(request_id: str, node: str) -> str:
    """One node's reply to a request."""
    return f"{REPLIES}/{request_id}.{node}.json"


def values_key(rank: int, mode: str, step: int, writer: str) -> str:
    """Full tensors that one worker saved at one step."""
    return f"{worker_folder(rank)}/values/{mode}-{step:010d}-{writer}.safetensors"


def profile_key(rank: int, kind: str, step: int, writer: str) -> str:
    """One profile, as written by the profiler."""
    return f"{worker_folder(rank)}/profiles/{kind}-{step:010d}-{writer}"


def decoded_key(rank: int, writer: str) -> str:
    """The list of files decoded from one trace."""
    return f"{worker_folder(rank)}/decoded/{writer}.json"


DECODED_LIST = re.compile(rf"{WORKERS}/\d+/decoded/[0-9a-f]{{8}}\.json")

_START_DIGITS = 20
_NEVER_NS = 2**63  # limit of timestamps


@dataclass(frozen=True, slots=True, order=True)
class SegmentName:
    """The name of a segment: start time and writer. Names sort by time."""

    start_ns: int
    writer: str

    def __str__(self) -> str:
        return f"{self.start_ns:020d}-{self.writer}"

    @classmethod
    def parse(cls, text: str) -> "SegmentName | None":
        """Parse a file's stem; None if it is not a segment name."""
        start, _, writer = text.partition("-")
        is_instant = len(start) == _START_DIGITS and start.isascii() and start.isdecimal()
        return cls(int(start), writer) if is_instant and writer and int(start) < _NEVER_NS else None


LIVE_SUFFIX = ".frames"
MANIFEST_SUFFIX = ".json"
SEALED_SUFFIX = ".parquet"
ROLLUP_SUFFIX = ".rollup.parquet"

# Of a profile to decode: the trace, the facts needed for decoding, and the marker when done.
TRACE_SUFFIX = ".json.gz"
TRACE_FACTS_SUFFIX = ".facts.json"
DECODED_SUFFIX = ".decoded.json"
SNAPSHOT_SUFFIX = ".snapshot.pickle"  # of PyTorch's allocator, for its memory viewer
