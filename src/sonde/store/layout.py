"""Where things lie inside a job's folder: path from meaning, and meaning from path."""

import re
from dataclasses import dataclass

from sonde.errors import UsageError

JOB = "job.json"
EXIT = "exit.json"
REQUESTS = "control/requests"
REPLIES = "control/replies"
NODES = "nodes"
WORKERS = "workers"
FINDINGS_FOLDER = "findings"
RULES_FOLDER = "rules"
REPORT_FOLDER = "report"
SENT = "sent"  # the document that says that all of an attempt has reached its store

_JOB_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


_MOST_DIGITS = 9


def check_name(name: str, what: str = "job") -> str:
    """The name itself, if it can be a folder in any store."""
    if not _JOB_NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a {what}: "
            "use letters, digits, '.', '_' and '-', at most 128, no '.' or '-' in front."
        )
    return name


def is_number(text: str) -> bool:
    """Whether a name is a rank or the number of an attempt."""
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


def node_folder(node: str) -> str:
    """Everything one node's launcher writes."""
    return f"{NODES}/{node}"


def worker_folder(rank: int) -> str:
    """Everything one training process writes."""
    return f"{WORKERS}/{rank}"


def worker_key(rank: int, attempt: int, restart: int, what: str) -> str:
    """A document about one life of a worker: its start, beat, tensors or failure."""
    return f"{worker_folder(rank)}/attempt-{attempt:03d}.{restart}/{what}.json"


def checkpoints_key(rank: int) -> str:
    """What a worker knows about the files it saved, for the life that resumes from one."""
    return f"{worker_folder(rank)}/checkpoints.json"


def attempt_key(node: str, number: int, what: str) -> str:
    """A document about one attempt of one node: its start, surroundings, heartbeat or exit."""
    return f"{node_folder(node)}/attempt-{number:03d}/{what}.json"


def frameworks_folder(node: str, number: int) -> str:
    """Files of processes that started: an empty one names an imported framework and its version.

    One named `unrecorded-…` says why the inside of a process was not recorded.
    """
    return f"{node_folder(node)}/attempt-{number:03d}/frameworks"


def reserve_key(node: str, number: int) -> str:
    """Room on the disk, kept for what has to be said at the end of an attempt."""
    return f"{node_folder(node)}/attempt-{number:03d}/reserve"


def report_key(file: str) -> str:
    """A file of the job's report."""
    return f"{REPORT_FOLDER}/{file}"


def rules_key(what: str) -> str:
    """A document about the rules of a job: how they stand, or how far they have come."""
    return f"{RULES_FOLDER}/{what}.json"


FINDINGS_LIST = rules_key("written")


def request_key(request_id: str) -> str:
    """A request to the job."""
    return f"{REQUESTS}/{request_id}.json"


def reply_key(request_id: str, node: str) -> str:
    """One node's reply to a request."""
    return f"{REPLIES}/{request_id}.{node}.json"


def values_key(rank: int, mode: str, step: int, writer: str) -> str:
    """The full tensors that one worker saved at one step."""
    return f"{worker_folder(rank)}/values/{mode}-{step:010d}-{writer}.safetensors"


def profile_key(rank: int, kind: str, step: int, writer: str) -> str:
    """One recorded profile, as the profiler wrote it."""
    return f"{worker_folder(rank)}/profiles/{kind}-{step:010d}-{writer}"


def decoded_key(rank: int, writer: str) -> str:
    """The list of files that one trace became."""
    return f"{worker_folder(rank)}/decoded/{writer}.json"


DECODED_LIST = re.compile(rf"{WORKERS}/\d+/decoded/[0-9a-f]{{8}}\.json")

_START_DIGITS = 20
_NEVER_NS = 2**63  # what times fit into


@dataclass(frozen=True, slots=True, order=True)
class SegmentName:
    """A segment: when it was begun, by which writer. The name sorts by time."""

    start_ns: int
    writer: str

    def __str__(self) -> str:
        return f"{self.start_ns:020d}-{self.writer}"

    @classmethod
    def parse(cls, text: str) -> "SegmentName | None":
        """The segment that a file's stem names, or None."""
        start, _, writer = text.partition("-")
        is_one = len(start) == _START_DIGITS and start.isascii() and start.isdecimal()
        return cls(int(start), writer) if is_one and writer and int(start) < _NEVER_NS else None


LIVE_SUFFIX = ".frames"
MANIFEST_SUFFIX = ".json"
SEALED_SUFFIX = ".parquet"
ROLLUP_SUFFIX = ".rollup.parquet"

# Of a profile that has to be decoded: the trace, what is needed to do so, and that once it is done.
TRACE_SUFFIX = ".json.gz"
TRACE_FACTS_SUFFIX = ".facts.json"
DECODED_SUFFIX = ".decoded.json"
SNAPSHOT_SUFFIX = ".snapshot.pickle"  # of an allocator, as PyTorch's own viewer reads it
