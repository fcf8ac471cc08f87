"""Receive what workers report as lost, over a socket: this works without a writable disk."""

import socket
import threading
from functools import partial

from sonde.guard import Guard
from sonde.records.loss_report import MAX_MESSAGE_BYTES, WorkerLoss, loss_address

_END_SECONDS = 1.0
_MAX_REPORTS = 10_000  # more than the workers of a large node send; the rest is not from workers


class LossListener:
    """Receives the loss reports of the workers of a run.

    Raises:
        OSError: The system has no such sockets, or no more descriptors.
    """

    def __init__(self, run_id: str) -> None:
        self._messages: list[bytes] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(loss_address(run_id))
        self._thread = threading.Thread(target=self._run, name="sonde-losses", daemon=True)
        self._thread.start()

    def close(self) -> list[WorkerLoss]:
        """Stop receiving and return everything that was reported."""
        self._socket.shutdown(socket.SHUT_RD)
        self._thread.join(_END_SECONDS)
        self._socket.close()
        guard = Guard()
        losses: list[WorkerLoss | None] = [
            guard.attempt("loss report", partial(WorkerLoss.from_message, message), None)
            for message in self._messages
        ]
        return [loss for loss in losses if loss is not None]

    def _run(self) -> None:
        while len(self._messages) < _MAX_REPORTS:
            message = self._socket.recv(MAX_MESSAGE_BYTES)
            if not message:
                break
            self._messages.append(message)
