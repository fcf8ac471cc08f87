"""Recordings in the format of smdebug, made by hand or by smdebug itself."""

import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sonde.tfevents.events import encode_event
from sonde.tfevents.records import UNCHECKED, encode_record
from sonde.tfevents.wire import encode_bytes, encode_varint
from tests.fakes.clock import START_NS

START_SECONDS = START_NS / 1e9
GOLDEN = Path(__file__).parent.parent / "golden" / "smdebug_recording.tar.xz"
_MODES = {"TRAIN": 1, "EVAL": 2, "PREDICT": 3, "GLOBAL": 4}
_TYPES = {"float32": 1, "float64": 2, "int64": 9, "float16": 19, "complex64": 8, "bool": 10}


def unpack_golden(folder: Path) -> Path:
    """Unpack a recording that smdebug 1.0.34 wrote with PyTorch: see its README."""
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(folder, filter="data")
    return folder / "recording"


def tensor(tag: str, value: Any, mode_step: int | None, mode: str = "TRAIN") -> bytes:
    """Return an encoded summary with a tensor; scalars of smdebug have no step."""
    array = np.asarray(value)
    plugins = {"mode_step": -1 if mode_step is None else mode_step, "mode": _MODES[mode]}
    metadata = b"".join(
        encode_bytes(1, encode_bytes(1, name.encode()) + encode_bytes(2, str(number).encode()))
        for name, number in plugins.items()
    )
    dimensions = (encode_bytes(2, encode_varint(1, size)) for size in array.shape)
    content = encode_varint(1, _TYPES[array.dtype.name]) + encode_bytes(2, b"".join(dimensions))
    content += encode_bytes(4, array.tobytes())
    return encode_bytes(1, tag.encode()) + encode_bytes(8, content) + encode_bytes(9, metadata)


def event_file(step: int, summaries: list[bytes]) -> bytes:
    """Return an event file whose records are one millisecond apart; smdebug has no checksums."""
    seconds = START_SECONDS + step
    records = (
        encode_record(encode_event(seconds + index / 1000, step, [summary]))
        for index, summary in enumerate(summaries)
    )
    return b"".join(record[:-4] + UNCHECKED.to_bytes(4, "little") for record in records)


class FakeRecording:
    """A folder of smdebug with any number of steps and workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)

    def step(
        self,
        step: int,
        values: Mapping[str, Any],
        *,
        mode: str = "TRAIN",
        mode_step: int | None = None,
        worker: str = "worker_0",
    ) -> Path:
        """Write the tensors of one global step and return the event file."""
        number = step if mode_step is None else mode_step
        summaries = [tensor(tag, value, number, mode) for tag, value in values.items()]
        path = self.folder / f"events/{step:012d}/{step:012d}_{worker}.tfevents"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(event_file(step, summaries))
        return path

    def collections(self, names: Mapping[str, list[str]], worker: str = "worker_0") -> None:
        """Write the list of collections of a worker."""
        listed = {
            name: {"name": name, "include_regex": [], "tensor_names": tensors}
            for name, tensors in names.items()
        }
        self.write(
            f"collections/000000000/{worker}_collections.json",
            {"collections": listed, "_meta": {"num_workers": 1}},
        )

    def index(self, step: int, shapes: Mapping[str, list[int]]) -> None:
        """Write the index of a step, with the shapes of tensors that were not saved."""
        listed = [{"tensorname": name, "shape": shape} for name, shape in shapes.items()]
        self.write(
            f"index/{step // 1000:09d}/{step:012d}_worker_0.json",
            {"meta": {"mode": "TRAIN", "mode_step": step}, "shape_payload": listed},
        )

    def write(self, name: str, document: Any) -> Path:
        """Write a JSON document, or a text as it is."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = document if isinstance(document, str) else json.dumps(document)
        path.write_text(text, encoding="utf-8")
        return path
