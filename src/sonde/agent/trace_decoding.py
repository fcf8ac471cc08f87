"""Decode pending profiler traces of a job into operations.

The output depends on the trace alone, including file names: if a process dies, the next one
overwrites its files.
"""

import json
import zlib
from typing import Any

from sonde.clock import Clock
from sonde.errors import DamagedError, KeyMissingError, StoreError
from sonde.records.notice import NoticeKind
from sonde.store import layout
from sonde.store.backends import Backend
from sonde.store.closing import list_logs
from sonde.store.format import NOTICES, OPERATIONS
from sonde.store.waiting_traces import waiting_traces_of
from sonde.store.writer import Writer
from sonde.traces.operations import BATCH_ROWS, Trace, decode_trace


def decode_waiting(backend: Backend, rank: int, clock: Clock) -> int:
    """Decode all pending traces of a worker; return their number."""
    decoded = 0
    for key in list(waiting_traces_of(backend, rank)):
        try:
            decoded += _decode(backend, rank, key, clock)
        except KeyMissingError:  # another process decoded it
            continue
    return decoded


def _decode(backend: Backend, rank: int, key: str, clock: Clock) -> bool:
    """Write the operations, then remove the trace."""
    facts_key, trace_key = key + layout.TRACE_FACTS_SUFFIX, key + layout.TRACE_SUFFIX
    raw_facts = backend.read(facts_key)
    writer = Writer(backend, layout.worker_folder(rank), clock)
    writer.token = f"{zlib.crc32(key.encode()):08x}"
    facts: dict[str, Any] = {}
    try:
        facts = _facts(raw_facts, facts_key)
        anchors = [(str(name), int(instant)) for name, instant in facts.get("anchors", ())]
        start_ns = facts.get("window", {}).get("start_ns")
        trace = decode_trace(backend.read(trace_key), anchors, start_ns)
        _write(writer, trace)
        if trace.is_truncated or trace.left_out:
            _record_notice(writer, key, "the trace is incomplete: some operations are missing")
    except KeyMissingError:
        backend.delete([facts_key])
        return False
    except DamagedError as error:
        _record_notice(writer, key, str(error))
    _flush(writer)
    families = [f"{layout.worker_folder(rank)}/{family.name}" for family in (OPERATIONS, NOTICES)]
    list_logs(backend, layout.decoded_key(rank, writer.token), families, writer.token)
    if facts.get("keep_trace"):
        backend.write(key + layout.DECODED_SUFFIX, raw_facts)
        backend.delete([facts_key])
    else:
        backend.delete([trace_key, facts_key])
    return True


def _facts(raw: bytes, key: str) -> dict[str, Any]:
    try:
        facts = json.loads(raw)
    except ValueError as error:
        raise DamagedError(f"{key} is damaged: {error}") from error
    if not isinstance(facts, dict):
        raise DamagedError(f"{key} is damaged: not a JSON object")
    return facts


def _write(writer: Writer, trace: Trace) -> None:
    for batch in trace.batches(BATCH_ROWS):
        writer.add_columns(OPERATIONS, batch.columns, batch.first_ns, batch.last_ns)
        _flush(writer)


def _flush(writer: Writer) -> None:
    """Write everything to the store."""
    writer.flush()
    if not writer.outbox.write_waiting():
        raise StoreError(f"Cannot write operations: {writer.outbox.last_error}")


def _record_notice(writer: Writer, key: str, reason: str) -> None:
    writer.notice(NoticeKind.NOT_COLLECTED, f"profile {key.rpartition('/')[2]}", reason)
