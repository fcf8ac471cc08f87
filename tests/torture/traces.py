"""Probe: damaged, unusual or hostile profiler traces, read by every importer.

An import may refuse a file with a SondeError. It must not raise other errors, hang, leave a partial
job behind, or accept a truncated file as complete.
"""

import gzip
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

from sonde.errors import SondeError
from sonde.importers import IMPORTERS
from tests.fakes.recordings import BASE_NS, Event, imported, named, training_step
from tests.torture.probe import Outcome

_SLOW_SECONDS = 60.0
_STEPS = 6
_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**31, 2**63, -(2**63), 2**64, 10**400, 1e308, -0.0, "", "x", "1", "nan"),
    *(
        [],
        {},
        [[]],
        {"a": {}},
        "\ud800",
        "\u0000",
        "a" * 10_000,
        1.5,
        "<script>",
        "../..",
        [0] * 99,
    ),
)

Damage = Callable[[bytes, random.Random], bytes]


def _events() -> list[Event]:
    steps = [training_step(number, 2000.0 * number, 10 * number) for number in range(_STEPS)]
    return [named("process_name", "python", 10), *(event for step in steps for event in step)]


def _document(events: list[Any], **head: Any) -> bytes:
    return json.dumps({"baseTimeNanoseconds": BASE_NS, **head, "traceEvents": events}).encode()


def _intact(data: bytes, _numbers: random.Random) -> bytes:
    """Return the data unchanged."""
    return data


def _flip_bits(data: bytes, numbers: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(numbers.randrange(1, 9)):
        changed[numbers.randrange(len(changed))] ^= 1 << numbers.randrange(8)
    return bytes(changed)


def _cut(data: bytes, numbers: random.Random) -> bytes:
    return data[: numbers.randrange(len(data))]


def _drop_the_middle(data: bytes, numbers: random.Random) -> bytes:
    first, last = sorted(numbers.randrange(len(data)) for _ in range(2))
    return data[:first] + data[last:]


def _odd_values(_data: bytes, numbers: random.Random) -> bytes:
    events: list[Any] = [dict(event) for event in _events()]
    for _ in range(numbers.randrange(1, 30)):
        event = numbers.choice(events)
        event[numbers.choice([*event, "new", "args"])] = numbers.choice(_VALUES)
    return _document(events)


def _odd_events(_data: bytes, numbers: random.Random) -> bytes:
    events: list[Any] = list(_events())
    for _ in range(numbers.randrange(1, 10)):
        events.insert(numbers.randrange(len(events)), numbers.choice(_VALUES))
    numbers.shuffle(events)
    return _document(events)


def _odd_head(_data: bytes, numbers: random.Random) -> bytes:
    names = ("baseTimeNanoseconds", "schemaVersion", "distributedInfo", "deviceProperties", "x")
    return _document(list(_events()), **{numbers.choice(names): numbers.choice(_VALUES)})


def _nest(_data: bytes, numbers: random.Random) -> bytes:
    depth = numbers.choice((500, 5_000, 100_000))
    opening, closing = numbers.choice(((b"[", b"]"), (b'{"a":', b"}")))
    nested = opening * depth + b"0" + closing * depth
    return b'{"traceEvents": [{"ph":"X","name":"a","ts":1,"dur":1,"args":' + nested + b"}]}"


def _no_trace(_data: bytes, numbers: random.Random) -> bytes:
    choices = (b"", b"{}", b"[]", b"null", b"\xff\xfe\x00", b"PK\x03\x04", b"\x1f\x8b", b"{" * 999)
    return numbers.choice(choices)


_DAMAGES: tuple[Damage, ...] = (
    *(_intact, _flip_bits, _flip_bits, _cut, _cut, _drop_the_middle, _odd_values, _odd_values),
    *(_odd_events, _odd_head, _nest, _no_trace),
)


class Traces:
    """Damaged traces, as JSON and compressed, read by all importers in turn."""

    name = "traces"

    def run(self, seed: int, deadline: float) -> Iterator[Outcome]:
        """Yield one outcome per import."""
        numbers = random.Random(seed)
        while monotonic() < deadline:
            yield _outcome(numbers.randrange(1 << 32))


def _outcome(seed: int) -> Outcome:
    numbers = random.Random(seed)
    damage, importer = numbers.choice(_DAMAGES), numbers.choice(IMPORTERS.names())
    case = f"{damage.__name__.strip('_')} for {importer}"
    folder = Path(tempfile.mkdtemp(prefix="sonde-torture-"))
    try:
        data = damage(_document(list(_events())), numbers)
        path = folder / "trace.json"
        if numbers.random() < 0.3:
            path = folder / "trace.json.gz"
            data = gzip.compress(data)
            data = _cut(data, numbers) if damage is _cut else data
        path.write_bytes(data)
        return _import(case, seed, importer, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _import(case: str, seed: int, importer: str, path: Path) -> Outcome:
    start, store = monotonic(), path.parent / "store"
    try:
        result = imported(importer, path, store)
        operations = result.operations() if result.job.facts.workers else []
        state = str(result.job.summary["state"])
    except SondeError:
        leftovers = [entry.name for entry in store.iterdir()] if store.exists() else []
        return Outcome(case, seed, untrue_state=f"left behind: {leftovers}" if leftovers else None)
    except Exception as error:  # noqa: BLE001 - whatever is not ours is a crash
        return Outcome(case, seed, crash=f"{type(error).__name__}: {str(error)[:300]}")
    if monotonic() - start > _SLOW_SECONDS:
        return Outcome(case, seed, crash=f"took {monotonic() - start:.0f} s")
    is_reported = result.intake.remarks or result.intake.left_out or result.job.summary["lost"]
    is_truncated = case.startswith("cut ")
    loss = (
        f"{len(operations)} operations of a cut trace" if is_truncated and not is_reported else None
    )
    untrue = None if state in ("completed", "ended", "failed") else f"state {state}"
    return Outcome(case, seed, silent_loss=loss, untrue_state=untrue)


PROBES = (Traces(),)
