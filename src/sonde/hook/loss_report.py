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


def _send(run_id: str, messages: list[bytes]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.settimeout(_SEND_SECONDS)
        for message in messages:
            sender.sendto(message, loss_address(run_id))
