"""Import offline runs of Weights & Biases."""

import json
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonde.clock import NANOSECONDS
from sonde.errors import DamagedError, UsageError
from sonde.formats import pluralize
from sonde.importers._curves import Curves, describe_worker
from sonde.importers._damages import read_bytes
from sonde.importers._importer import Importer, Intake
from sonde.importers._sources import Source, find_files
from sonde.tfevents.wire import fields

_SOURCE = "wandb"
_MAGIC = b":W&B"
_FILE_HEADER_BYTES = 7
_BLOCK_BYTES = 1 << 15
_HEAD = struct.Struct("<IHB")  # checksum, length, kind
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_HISTORY, _ITEM, _STEP = 2, 1, 2  # fields of a record, and of its history
_KEY, _NESTED_KEY, _JSON = 1, 2, 16
_NEVER_SECONDS = 4e9  # the year 2096


class WandbImporter(Importer):
    """Offline runs of Weights & Biases: the folder of a run, or its `.wandb` file."""

    endings = (".wandb",)

    def sources(self, path: Path) -> list[Source]:
        files = find_files(path, self.endings)
        if len(files) > 1:
            names = ", ".join(file.parent.name for file in files)
            raise UsageError(
                f"{path} has several runs: {names}. Import one of them, such as {files[-1].parent}"
            )
        return [Source(file) for file in files]

    def read(self, source: Source, intake: Intake) -> None:
        log = _Log(read_bytes(source.path, intake.advance))
        curves, left_out = Curves(_SOURCE), Counter[str]()
        for payload in log:
            for values in _history_of(payload, left_out):
                _take(values, curves, left_out)
        if not curves.points:
            reason = log.damage or "has no logged numbers"
            raise DamagedError(f"{source.path} {reason}.")
        if log.damage:
            intake.remarks.append(f"{source.path} {log.damage}")
        rows = intake.worker(describe_worker(_SOURCE))
        curves.write(rows, intake)
        intake.left_out += left_out


@dataclass(slots=True)
class _Log:
    """Iterates over the records of a file, up to the first damage."""

    data: bytes
    damage: str = ""

    def __iter__(self) -> Iterator[bytes]:
        if not self.data.startswith(_MAGIC):
            self.damage = "is not a file of Weights & Biases"
            return
        record = b""
        for kind, chunk in self._chunks():
            record = chunk if kind in (_FULL, _FIRST) else record + chunk
            if kind in (_FULL, _LAST):
                yield record

    def _chunks(self) -> Iterator[tuple[int, bytes]]:
        """The chunks of records; a chunk never crosses the border of a block."""
        offset = _FILE_HEADER_BYTES
        while offset < len(self.data):
            room = _BLOCK_BYTES - offset % _BLOCK_BYTES
            if room < _HEAD.size:
                offset += room
                continue
            start = offset + _HEAD.size
            if start > len(self.data):
                self._end_early()
                return
            checksum, length, kind = _HEAD.unpack_from(self.data, offset)
            chunk = self.data[start : start + length]
            if len(chunk) < length:
                self._end_early()
                return
            if zlib.crc32(bytes([kind]) + chunk) != checksum:
                self.damage = f"is damaged after {pluralize(offset, 'byte')}"
                return
            yield kind, chunk
            offset = start + length

    def _end_early(self) -> None:
        self.damage = f"is truncated after {pluralize(len(self.data), 'byte')}"


def _history_of(payload: bytes, left_out: Counter[str]) -> Iterator[dict[str, Any]]:
    """The values that the script logged in one step."""
    try:
        for part in fields(payload):
            if part.number == _HISTORY:
                yield dict(
                    _item(item.content) for item in fields(part.content) if item.number == _ITEM
                )
    except (ValueError, RecursionError):
        left_out["unreadable records"] += 1


def _item(content: bytes) -> tuple[str, Any]:
    """A name, whose parts are joined by dots, and a value."""
    name, nested, value = "", [], None
    for part in fields(content):
        if part.number == _KEY:
            name = part.text
        elif part.number == _NESTED_KEY:
            nested.append(part.text)
        elif part.number == _JSON:
            value = json.loads(part.content)
    return ".".join(nested) or name, value


def _take(values: Mapping[str, Any], curves: Curves, left_out: Counter[str]) -> None:
    """Add the numbers of one step."""
    step, seconds = values.get("_step"), values.get("_timestamp")
    if not isinstance(step, int) or not isinstance(seconds, int | float):
        left_out["records without a step"] += 1
        return
    if not 0 < seconds < _NEVER_SECONDS:
        left_out["records without a time"] += 1
        return
    for name, value in values.items():
        if name.startswith("_"):
            continue
        if isinstance(value, int | float):
            curves.add(name, round(seconds * NANOSECONDS), step, float(value))
        else:
            left_out["values that are not numbers"] += 1
