"""Write the records of one node or worker: buffered, rotating, crash-safe."""

import json
import os
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sonde.clock import NANOSECONDS, Clock
from sonde.masking import mask_text, mask_texts
from sonde.records.metric import Series
from sonde.records.notice import Notice, NoticeKind
from sonde.store.backends import Backend
from sonde.store.encode import encode_columns, encode_rows, encode_samples
from sonde.store.format import FAMILIES, FORMAT_VERSION, NOTICES, SYSTEM, Family
from sonde.store.frames import FrameKind, encode_frame
from sonde.store.layout import LIVE_SUFFIX, SegmentName
from sonde.store.outbox import WAITING_LIMIT_BYTES, Chunk, GrowingSegment, Outbox

SEGMENT_SECONDS = 600.0
SEGMENT_BYTES = 8 * 1024 * 1024

# columns with texts from the script, which may contain secrets
_CHOSEN_TEXTS = {"name", "subject", "module", "lane", "detail", "text"}


@dataclass(slots=True)
class _Log:
    """The open segment of one family, and the records since the last flush."""

    family: Family
    segment: GrowingSegment | None = None
    start_ns: int = 0
    rows: list[Sequence[Any]] = field(default_factory=list)
    times_ns: list[int] = field(default_factory=list)


class Writer:
    """Writes the records of one folder. Recording only appends to a list; a thread writes."""

    def __init__(
        self,
        backend: Backend,
        folder: str,
        clock: Clock,
        waiting_limit_bytes: int = WAITING_LIMIT_BYTES,
    ) -> None:
        self.token = os.urandom(4).hex()
        self._folder = folder
        self._clock = clock
        self._lock = threading.RLock()
        self._series: tuple[Series, ...] = ()
        self._logs = {family.name: _Log(family) for family in FAMILIES.values()}
        self._lost: list[Notice] = []
        self._has_recorded_losses = False  # by the last call of `record_losses`
        self.segments_closed = 0
        self.outbox = Outbox(backend, clock, self.report_lost, waiting_limit_bytes)

    def add_sample(self, time_ns: int, series: tuple[Series, ...], values: Sequence[float]) -> None:
        """Record one tick of system samples; a different tuple of series starts a new segment."""
        with self._lock:
            log = self._logs[SYSTEM.name]
            if series is not self._series:
                self._flush_log(log)
                self._close_segment(log)
                self._series = series
            log.times_ns.append(time_ns)
            log.rows.append(values)

    def add(self, family: Family, row: Sequence[Any]) -> None:
        """Record one row, with values in the order of the family's columns."""
        with self._lock:
            log = self._logs[family.name]
            log.times_ns.append(self._clock.now_ns())
            log.rows.append(row)

    def add_columns(
        self, family: Family, columns: Sequence[Sequence[Any]], first_ns: int, last_ns: int
    ) -> None:
        """Record many rows given as columns; they are queued immediately."""
        masked = [
            mask_texts(column) if name in _CHOSEN_TEXTS else column
            for (name, _), column in zip(family.columns, columns, strict=True)
        ]
        with self._lock:
            self._post(self._logs[family.name], encode_columns(family, masked), first_ns, last_ns)

    def notice(self, kind: NoticeKind, what: str, reason: str) -> None:
        """Record a notice about the recording itself."""
        now_ns = self._clock.now_ns()
        self.add(NOTICES, (kind.value, mask_text(what), mask_text(reason), now_ns, now_ns))

    def flush(self) -> None:
        """Queue everything recorded so far."""
        with self._lock:
            lost, self._lost = _merged(self._lost), []
        for gap in lost:
            texts = mask_text(gap.what), mask_text(gap.reason)
            self.add(NOTICES, (gap.kind.value, *texts, gap.start_ns, gap.end_ns))
        with self._lock:
            for log in self._logs.values():
                self._flush_log(log)

    def close(self, timeout_seconds: float) -> list[Notice]:
        """Write the remaining records; returns notices of the lost ones."""
        self.flush()
        self.outbox.close(timeout_seconds)
        return _merged(self._lost)

    def record_losses(self) -> bool:
        """Record losses after closing, even on an almost full disk.

        Returns:
            Whether they were recorded.
        """
        if not self._has_recorded_losses:  # the old segment may end in an incomplete frame
            self._close_segment(self._logs[NOTICES.name])
        self.flush()
        self._has_recorded_losses = self.outbox.write_waiting(leave_room=False)
        return self._has_recorded_losses

    def report_lost(self, notice: Notice) -> None:
        """Record a loss with the next flush."""
        with self._lock:
            self._lost.append(notice)

    def _flush_log(self, log: _Log) -> None:
        if not log.rows:
            return
        times_ns, rows = log.times_ns, log.rows
        log.times_ns, log.rows = [], []
        first_ns, last_ns = times_ns[0], times_ns[-1]
        try:
            payload = (
                encode_samples(times_ns, rows)
                if log.family.is_matrix
                else encode_rows(log.family, rows)
            )
        except (OverflowError, TypeError, ValueError) as error:
            reason = f"cannot encode: {error}"
            kind, what = log.family.loss_kind, log.family.label
            self.report_lost(Notice(kind, what, reason, first_ns, last_ns))
            return
        self._post(log, payload, first_ns, last_ns)

    def _post(self, log: _Log, payload: bytes, first_ns: int, last_ns: int) -> None:
        if self._is_due_for_rotation(log, last_ns):
            self._close_segment(log)
        frames = encode_frame(FrameKind.BATCH, payload)
        segment = log.segment
        if segment is None:
            segment = log.segment = self._open_segment(log, first_ns)
            if log.family.is_matrix:
                frames += segment.schema  # twice, because samples are unreadable without the schema
        kind = log.family.loss_kind
        self.outbox.post(Chunk(segment, frames, log.family.label, first_ns, last_ns, kind))

    def _is_due_for_rotation(self, log: _Log, now_ns: int) -> bool:
        if log.segment is None:
            return False
        is_old = now_ns - log.start_ns >= SEGMENT_SECONDS * NANOSECONDS
        return is_old or log.segment.written >= SEGMENT_BYTES

    def _open_segment(self, log: _Log, start_ns: int) -> GrowingSegment:
        folder = f"{self._folder}/{log.family.name}"
        schema: dict[str, Any] = {
            "format": FORMAT_VERSION,
            "family": log.family.name,
            "owner": f"{folder}/{self.token}",
        }
        if log.family.is_matrix:
            schema["series"] = [asdict(series) for series in self._series]
        name = SegmentName(start_ns, self.token)
        log.start_ns = start_ns
        return GrowingSegment(
            f"{folder}/{name}{LIVE_SUFFIX}",
            encode_frame(FrameKind.SCHEMA, json.dumps(schema).encode()),
        )

    def _close_segment(self, log: _Log) -> None:
        if log.segment is not None:
            log.segment = None
            self.segments_closed += 1


def _merged(gaps: list[Notice]) -> list[Notice]:
    """Merge notices with the same text."""
    merged: dict[tuple[str, str], Notice] = {}
    for gap in gaps:
        previous = merged.get((gap.what, gap.reason), gap)
        merged[gap.what, gap.reason] = Notice(
            gap.kind,
            gap.what,
            gap.reason,
            min(previous.start_ns, gap.start_ns),
            max(previous.end_ns, gap.end_ns),
        )
    return list(merged.values())
