"""Report lost data to the launcher over a socket, which works without a writable disk."""

import os
import socket
from collections.abc import Iterable

from sonde.guard import Guard
from sonde.records.loss_report import WorkerLoss, loss_address
from sonde.records.notice import Notice, NoticeKind

_SEND_SECONDS = 2.0


def send_losses(
    run_id: str | None, rank: int | None, losses: Iterable[Notice], *, is_recorded: bool
) -> None:
    """Report losses of a worker to the launcher on this machine, if there is one."""
    by_reason: dict[str, list[Notice]] = {}
    for notice in losses:
        by_reason.setdefault(notice.reason, []).append(notice)
    if run_id is None or not by_reason:
        return
    worker = f"worker {rank}" if rank is not None else f"process {os.getpid()}"
    messages = [
        WorkerLoss(_merge(worker, reason, notices), is_recorded).to_message()
        for reason, notices in by_reason.items()
    ]
    Guard().attempt("the loss report", lambda: _send(run_id, messages), None)


def send_notice(run_id: str | None, notice: Notice) -> None:
    """Send a recorded notice to the launcher on this machine, which prints it at the end."""
    if run_id is not None:
        message = WorkerLoss(notice, is_recorded=True).to_message()
        Guard().attempt("a notice to the launcher", lambda: _send(run_id, [message]), None)


def _merge(worker: str, reason: str, notices: list[Notice]) -> Notice:
    has_lost_steps = any(notice.kind is NoticeKind.LOST_STEPS for notice in notices)
    return Notice(
        NoticeKind.LOST_STEPS if has_lost_steps else NoticeKind.LOST,
        f"{worker}: {', '.join(dict.fromkeys(notice.what for notice in notices))}",
        reason,
        min(notice.start_ns for notice in notices),
        max(notice.end_ns for notice in notices),
    )


class ReservedSocket:
    """A socket opened in advance, because the script may use up its file descriptors."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._identity = (0, 0)

    def open(self) -> None:
        """Open the socket, unless it is open."""
        if not self._is_open():
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as created:
                self._descriptor = created.detach()
            self._identity = _identity(self._descriptor)

    def take(self) -> socket.socket | None:
        """Return the socket, once; None if there is none."""
        descriptor, is_open = self._descriptor, self._is_open()
        self._descriptor = None
        if descriptor is None or not is_open:
            return None
        return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM, fileno=descriptor)

    def _is_open(self) -> bool:
        """Whether the descriptor is still ours: the script may close it and reuse its number."""
        return self._descriptor is not None and _identity(self._descriptor) == self._identity


RESERVED_SOCKET = ReservedSocket()


def _identity(descriptor: int) -> tuple[int, int]:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return (0, 0)
    return (status.st_dev, status.st_ino)


def _open_socket() -> socket.socket:
    try:
        return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    except OSError:
        reserved = RESERVED_SOCKET.take()
        if reserved is None:
            raise
        return reserved


def _send(run_id: str, messages: list[bytes]) -> None:
    with _open_socket() as sender:
        sender.settimeout(_SEND_SECONDS)
        for message in messages:
            sender.sendto(message, loss_address(run_id))
