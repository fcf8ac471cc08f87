"""Workers report to the launcher what they lost, over a socket: no disk need be writable."""

import json
import os
import socket
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from sonde.guard import Guard
from sonde.records.notice import Notice, NoticeKind

_SEND_SECONDS = 2.0
_END_SECONDS = 1.0
_MOST_BYTES = 32 * 1024
_MOST_REPORTS = 10_000  # of a large node; whoever sends more is no worker


@dataclass(frozen=True, slots=True)
class WorkerLoss:
    """What a worker lost, and whether it could write that down itself."""

    notice: Notice
    is_recorded: bool


def send_losses(
    run_id: str | None, rank: int | None, lost: Iterable[Notice], *, is_recorded: bool
) -> None:
    """Report losses of a worker to the launcher on this machine, if there is one."""
    by_reason: dict[str, list[Notice]] = {}
    for notice in lost:
        by_reason.setdefault(notice.reason, []).append(notice)
    if run_id is None or not by_reason:
        return
    worker = f"worker {rank}" if rank is not None else f"process {os.getpid()}"
    rows = [
        (
            f"{worker}: {', '.join(dict.fromkeys(notice.what for notice in notices))}",
            reason,
            min(notice.start_ns for notice in notices),
            max(notice.end_ns for notice in notices),
            is_recorded,
        )
        for reason, notices in by_reason.items()
    ]
    Guard().attempt("the loss report", lambda: _send(run_id, rows), None)


def _send(run_id: str, rows: list[tuple[str, str, int, int, bool]]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.settimeout(_SEND_SECONDS)
        for row in rows:
            sender.sendto(json.dumps(row).encode()[:_MOST_BYTES], _address(run_id))


def _address(run_id: str) -> bytes:
    """A name that is no file: it lives in the kernel as long as the launcher does."""
    return b"\0sonde-losses-" + run_id.encode()


class LossListener:
    """Receives what workers of a run report.

    Raises:
        OSError: The system knows no such sockets, or has no more descriptors.
    """

    def __init__(self, run_id: str) -> None:
        self._rows: list[bytes] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(_address(run_id))
        self._thread = threading.Thread(target=self._run, name="sonde-losses", daemon=True)
        self._thread.start()

    def close(self) -> list[WorkerLoss]:
        """Stop receiving; everything that was reported."""
        self._socket.shutdown(socket.SHUT_RD)
        self._thread.join(_END_SECONDS)
        self._socket.close()
        guard, none = Guard(), None
        parsed = [guard.attempt("a loss report", partial(_loss, row), none) for row in self._rows]
        return [loss for loss in parsed if loss is not None]

    def _run(self) -> None:
        while len(self._rows) < _MOST_REPORTS and (row := self._socket.recv(_MOST_BYTES)):
            self._rows.append(row)


def _loss(row: bytes) -> WorkerLoss:
    what, reason, start_ns, end_ns, is_recorded = json.loads(row)
    notice = Notice(NoticeKind.LOST, str(what), str(reason), int(start_ns), int(end_ns))
    return WorkerLoss(notice, bool(is_recorded))
