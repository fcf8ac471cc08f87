"""Hostile jobs: each violates one assumption about files.

`make_store(folder)` writes a store with one good job and one hostile job of each kind. Readers
must list them all, with little time and memory; see `test_hostile_stores.py`.
"""

import dataclasses
import json
import os
import shutil
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sonde.engine.saved_progress import Progress, save_progress
from sonde.records.finding import Finding, Severity
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.format import EVENTS, SYSTEM
from sonde.store.frames import FrameKind, encode_frame
from sonde.store.layout import JOB, attempt_key, rules_key, worker_key
from sonde.store.manifest import Manifest
from sonde.store.parquet import write_parquet
from sonde.store.seal import FamilyFolder, seal_folder
from sonde.store.tables import schema_of
from tests.fakes.job import FakeJob
from tests.fakes.stores import write_findings

GRADIENT = "gradient/first.weight"
GOOD = "good"
_HUGE = 1 << 40
_DEEP = 100_000


def good_job(folder: Path) -> FakeJob:
    """Record a small finished job, partly sealed."""
    job = FakeJob(str(folder)).record({"cpu.user_percent": range(20)})
    worker = job.worker().add_tensor(GRADIENT, "gradients")
    for step in range(8):
        worker.scalar("loss", step, 1.0 / (1 + step))
        worker.statistics(GRADIENT, step, [1.0, 2.0]).step(step, {"forward": 0.1}).flush()
    worker.values(2, {GRADIENT: np.arange(4.0, dtype=np.float32)})
    worker.notice("activations", "inside a compiled region").flush().beat()
    write_findings(job.backend, [Finding("LossSpike", Severity.WARNING, "The loss jumped.")])
    seal_folder(FamilyFolder(job.backend, "workers/0", EVENTS), is_over=True)
    job.seal(SYSTEM)
    save_progress(job.backend, Progress())
    return job.beat().close()


def _replace(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _outside(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(_HUGE)


def _directory(path: Path) -> None:
    path.mkdir()


ODD_FILES: Mapping[str, Callable[[Path], object]] = {
    "pipe": _pipe,
    "endless": _endless,
    "outside": _outside,
    "sparse": _sparse,
    "directory": _directory,
}


def _file(job: Path, fragment: str) -> Path:
    paths = sorted(path for path in job.rglob("*") if fragment in str(path.relative_to(job)))
    return next(path for path in paths if path.is_file())


def _odd(fragment: str, kind: str) -> Callable[[Path], None]:
    return lambda job: _replace(_file(job, fragment), ODD_FILES[kind])


def document(body: str) -> bytes:
    """Return a document with a valid checksum and arbitrary content."""
    rest = body.encode()
    return f'{{"crc32": "{zlib.crc32(rest):08x}",\n'.encode() + rest


def _document(key: str, body: str) -> Callable[[Path], None]:
    def change(job: Path) -> None:
        (job / key).write_bytes(document(body))

    return change


def _deep(key: str) -> Callable[[Path], None]:
    return _document(key, '"format": 1, "a": ' + "[" * _DEEP + "]" * _DEEP + "}")


def _wrong(key: str) -> Callable[[Path], None]:
    """Replace each field by a value of another type."""

    def change(job: Path) -> None:
        body = json.loads((job / key).read_bytes())
        body = {name: _other_type(value) for name, value in body.items() if name != "crc32"}
        text = json.dumps({**body, "format": 1, "key": key}).removeprefix("{")
        (job / key).write_bytes(document(text))

    return change


def _other_type(value: Any) -> Any:
    if isinstance(value, str):
        return {"text": [1]}
    return "x" if isinstance(value, (int, float)) else 10**40


def _large_numbers(key: str) -> Callable[[Path], None]:
    def change(job: Path) -> None:
        body = json.loads((job / key).read_bytes())
        body = {name: 10**30 if isinstance(value, int) else value for name, value in body.items()}
        text = json.dumps({**body, "crc32": "", "format": 1}).removeprefix('{"crc32": "", ')
        (job / key).write_bytes(document(text))

    return change


def bomb_frame(size: int) -> bytes:
    """Return a frame with valid checksums that unpacks to a thousand times its size."""
    packing, block = zlib.compressobj(9), bytes(1 << 20)
    packed = b"".join(packing.compress(block) for _ in range(size >> 20)) + packing.flush()
    numbers = (FrameKind.BATCH, 1, 0, len(packed), zlib.crc32(packed))
    fields = struct.pack("<4sBBHII", b"\xf5SND", *numbers)
    return fields + struct.pack("<I", zlib.crc32(fields)) + packed


def _frames(fragment: str, frames: bytes, *, at_end: bool = True) -> Callable[[Path], None]:
    def change(job: Path) -> None:
        path = _file(job, fragment)
        data = path.read_bytes()
        path.write_bytes(data + frames if at_end else frames)

    return change


def _bombs(size: int, times: int) -> Callable[[Path], None]:
    def change(job: Path) -> None:
        _frames("/scalars/", bomb_frame(size) * times)(job)

    return change


def _swapped_families(job: Path) -> None:
    """Rename each log to that of another family, with valid checksums."""
    logs = sorted(job.glob("workers/0/*/*.frames"))
    contents = [path.read_bytes() for path in logs]
    for path, content in zip(logs, contents[1:] + contents[:1], strict=True):
        path.write_bytes(content)


def _swapped_manifests(job: Path) -> None:
    first, second = _file(job, "/events/"), _file(job, "/system/")
    for suffix in (".json", ".parquet"):
        first_path, second_path = first.with_suffix(suffix), second.with_suffix(suffix)
        content = first_path.read_bytes()
        first_path.write_bytes(second_path.read_bytes())
        second_path.write_bytes(content)


def _parquet(make: Callable[[], pa.Table]) -> Callable[[Path], None]:
    """Replace the table of a sealed segment, with valid checksums in the manifest."""

    def change(job: Path) -> None:
        path = min(job.glob("workers/0/events/*.parquet"))
        key = str(path.relative_to(job))
        manifest_key = key.replace(".parquet", ".json")
        content, seal = write_parquet(key, [make()])
        path.write_bytes(content)
        manifest = decode_facts(Manifest, (job / manifest_key).read_bytes(), manifest_key)
        changed = dataclasses.replace(manifest, raw=seal)
        (job / manifest_key).write_bytes(encode_facts(changed, manifest_key))

    return change


def _text_bomb() -> pa.Table:
    """Return texts that a dictionary compresses: 32,768 times a megabyte."""
    rows = 1 << 15
    text = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * (1 << 20)])
    numbers = pa.array([0] * rows, pa.int64())
    kinds = {field.name: field.type for field in schema_of(EVENTS)}
    return pa.table(
        {name: text if pa.types.is_dictionary(kind) else numbers for name, kind in kinds.items()}
    )


def _other_columns() -> pa.Table:
    return pa.table({"time_ns": [1, 2, 3], "name": [1.0, 2.0, 3.0]})


def _manifest(**changes: Any) -> Callable[[Path], None]:
    def change(job: Path) -> None:
        path = next(iter(sorted(job.glob("workers/0/events/*.json"))))
        key = str(path.relative_to(job))
        manifest = decode_facts(Manifest, path.read_bytes(), key)
        raw = manifest.raw
        assert raw is not None
        named = {name: make(raw) if callable(make) else make for name, make in changes.items()}
        path.write_bytes(encode_facts(dataclasses.replace(manifest, **named), key))

    return change


def _tensor_header(length: int) -> Callable[[Path], None]:
    def change(job: Path) -> None:
        path = _file(job, "/values/")
        path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:])

    return change


def _garbage_names(job: Path) -> None:
    """Add folders and files whose names only resemble valid ones."""
    for name in ("workers/²", "workers/-1", "workers/9999999999999999999999", "nodes/\udcff"):
        (job / os.fsencode(name).decode("utf-8", "surrogateescape")).mkdir(parents=True)
    (job / "workers/0/events" / f"{'9' * 20}-x-y-z.json").write_text("{}")
    (job / "workers/0/values" / "train-99999999999999999999-a.safetensors").write_bytes(b"")
    (job / "nodes/node-a/attempt-99999999999999999999").mkdir()


def _link_to_itself(job: Path) -> None:
    (job / "workers" / "1").symlink_to(job / "workers")
    (job / "nodes" / "again").symlink_to(job / "nodes")


_EXIT, _START = attempt_key("node-a", 1, "exit"), attempt_key("node-a", 1, "start")
_WORKER, _TENSORS = worker_key(0, 1, 0, "start"), worker_key(0, 1, 0, "tensors")
_RULES = rules_key("evaluations")
_DOCUMENTS = (JOB, _EXIT, _START, _WORKER, _TENSORS, _RULES, worker_key(0, 1, 0, "beat"))

_NUMBERS = (JOB, _EXIT, _START, _WORKER)

HOSTILE: Mapping[str, Callable[[Path], None]] = {
    **{
        f"{kind}-as-{fragment.strip('/').replace('/', '-').replace('.', '-')}": _odd(fragment, kind)
        for kind in ODD_FILES
        for fragment in (JOB, _EXIT, "/scalars/", "/events/", "/values/", _RULES)
    },
    **{f"deep-{number}": _deep(key) for number, key in enumerate(_DOCUMENTS)},
    **{f"wrong-types-{number}": _wrong(key) for number, key in enumerate(_DOCUMENTS)},
    **{f"large-numbers-{number}": _large_numbers(key) for number, key in enumerate(_NUMBERS)},
    **{
        f"not-an-object-{number}": _document(key, '"format": 1, "x": 1}, [1]')
        for number, key in enumerate(_DOCUMENTS)
    },
    "frame-bomb": _bombs(300 << 20, 1),
    "many-frame-bombs": _bombs(100 << 20, 40),
    "deep-schema": _frames(
        "/scalars/", encode_frame(FrameKind.SCHEMA, b"[" * _DEEP + b"]" * _DEEP), at_end=False
    ),
    "deep-batch": _frames(
        "/scalars/",
        encode_frame(FrameKind.BATCH, _DEEP.to_bytes(4, "little") + b"[" * _DEEP),
    ),
    "huge-batch": _frames(
        "/scalars/",
        encode_frame(
            FrameKind.BATCH,
            (60).to_bytes(4, "little")
            + b'{"rows": 999999999999, "columns": [["name", "s", 99999999]]}',
        ),
    ),
    "swapped-families": _swapped_families,
    "swapped-segments": _swapped_manifests,
    "parquet-text-bomb": _parquet(_text_bomb),
    "parquet-other-columns": _parquet(_other_columns),
    "manifest-of-elsewhere": _manifest(
        raw=lambda raw: dataclasses.replace(raw, key="../good/workers/0/events/x.parquet")
    ),
    "manifest-huge": _manifest(raw=lambda raw: dataclasses.replace(raw, size=_HUGE)),
    "manifest-no-checksums": _manifest(raw=lambda raw: dataclasses.replace(raw, chunks_crc32=())),
    "tensor-header-huge": _tensor_header((1 << 64) - 1),
    "tensor-header-long": _tensor_header(1 << 30),
    "names": _garbage_names,
    "links-in-a-circle": _link_to_itself,
}


HARMLESS = ("names",)  # the job itself is unchanged


def make_store(folder: Path, names: Iterable[str] = HOSTILE) -> list[str]:
    """Write a store with a good job and hostile ones; return their names."""
    good_job(folder / GOOD)
    for name in names:
        shutil.copytree(folder / GOOD, folder / name)
        HOSTILE[name](folder / name)
    return [GOOD, *names]
