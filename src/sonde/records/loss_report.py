"""The message in which a worker reports to the launcher what it failed to record.

`hook/startup_report.py` sends the same message without this module.
"""

import json
from dataclasses import dataclass

from sonde.records.notice import Notice, NoticeKind

MAX_MESSAGE_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class WorkerLoss:
    """Data a worker lost or did not record, and whether it could record that itself."""

    notice: Notice
    is_recorded: bool

    def to_message(self) -> bytes:
        """Encode the loss as one datagram."""
        notice = self.notice
        texts = (notice.kind.value, notice.what, notice.reason)
        fields = (*texts, notice.start_ns, notice.end_ns, self.is_recorded)
        return json.dumps(fields).encode()[:MAX_MESSAGE_BYTES]

    @classmethod
    def from_message(cls, message: bytes) -> "WorkerLoss":
        """Decode one datagram.

        Raises:
            ValueError: The datagram is not a loss report.
        """
        kind, what, reason, start_ns, end_ns, is_recorded = json.loads(message)
        notice = Notice(NoticeKind(kind), str(what), str(reason), int(start_ns), int(end_ns))
        return cls(notice, bool(is_recorded))


def loss_address(run_id: str) -> bytes:
    """The launcher's socket: an abstract name, which the kernel drops with the launcher."""
    return b"\0sonde-losses-" + run_id.encode()
