"""Events are read completely, wherever chunks end and however a trace is formatted."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.errors import DamagedError
from sonde.traces import plain_events, typed_events
from sonde.traces import stream as trace_stream
from sonde.traces.stream import TraceStream

NASTY = 'a "quoted" }, { and ] with \\ backslash\\'


def event(name: str, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 2, "ts": 1.5, "args": args}


EVENTS = [
    event("plain"),
    event(NASTY),
    event("lists", **{"Input Dims": [[2, 3], []], "objects": [{"a": 1}, {"b": [{}, {}]}]}),
    event("empty", text="", other="]}"),
    event("last", correlation=7),
]
DOCUMENT = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0}, {"id": 1}],
    "traceEvents": EVENTS,
    "baseTimeNanoseconds": 1700000000000000000,
    "traceName": "of }, { a test]",
    "distributedInfo": {"rank": 1, "groups": [{"a": 1}, {"b": 2}]},
}
REST = {key: value for key, value in DOCUMENT.items() if key != "traceEvents"}


def read(content: bytes, block_bytes: int = 1 << 20) -> tuple[list[str], TraceStream]:
    stream = TraceStream(content, block_bytes)
    return [event.name for events, _ in stream.chunks() for event in events], stream


def names(events: list[dict[str, Any]]) -> list[str]:
    return [each["name"] for each in events]


@pytest.mark.parametrize("indent", [None, 0, 1, 4])
@pytest.mark.parametrize("separators", [None, (",", ":"), (" ,\n\t", " :\r\n")])
@pytest.mark.parametrize("block_bytes", [1, 7, 64, 1 << 20])
def test_every_format_is_read_with_any_chunk_size(
    indent: int | None, separators: tuple[str, str] | None, block_bytes: int
) -> None:
    text = json.dumps(DOCUMENT, indent=indent, separators=separators)
    events, stream = read(text.encode(), block_bytes)
    assert events == names(EVENTS)
    assert stream.metadata == REST
    assert not stream.is_truncated
    assert stream.left_out == 0
    assert stream.bytes_read == len(text)


@given(st.integers(1, 900), st.permutations(list(DOCUMENT)))
def test_keys_may_be_in_any_order_and_chunks_may_end_anywhere(
    block_bytes: int, order: list[str]
) -> None:
    text = json.dumps({key: DOCUMENT[key] for key in order})
    events, stream = read(text.encode(), block_bytes)
    assert events == names(EVENTS)
    assert stream.metadata == REST


texts = st.text(max_size=12) | st.sampled_from([NASTY, '"', "\\", "},{", "[", "]"])
arguments = st.recursive(
    texts | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(
    st.lists(st.tuples(texts, arguments), max_size=8),
    st.integers(1, 300),
    st.booleans(),
    st.sampled_from([None, 2]),
)
def test_no_event_is_lost_or_split(
    drawn: list[tuple[str, Any]], block_bytes: int, is_bare: bool, indent: int | None
) -> None:
    events = [event(name, anything=value) for name, value in drawn]
    document = events if is_bare else {"traceEvents": events, "more": drawn}
    result, stream = read(json.dumps(document, indent=indent).encode(), block_bytes)
    assert result == names(events)
    assert not stream.is_truncated


@given(st.data())
def test_a_trace_truncated_at_any_byte_yields_the_events_before(data: st.DataObject) -> None:
    text = json.dumps({"traceEvents": EVENTS, "traceName": "x"}).encode()
    begin = text.index(b"[") + 1
    cut = data.draw(st.integers(begin, len(text) - 1))
    events, stream = read(text[:cut], data.draw(st.integers(1, 500)))
    complete = [
        event for event in names(EVENTS) if text.find(_end_of(event)) + len(_end_of(event)) <= cut
    ]
    assert events == complete
    close = len(text) - len(b'], "traceName": "x"}')
    assert stream.is_truncated == (cut <= close)


def _end_of(name: str) -> bytes:
    return json.dumps(next(event for event in EVENTS if event["name"] == name)).encode()


def test_a_bare_array_may_lack_its_closing_bracket() -> None:
    events, stream = read(json.dumps(EVENTS)[:-1].encode() + b",\n")
    assert events == names(EVENTS)
    assert stream.metadata == {}


@pytest.mark.parametrize("block_bytes", [3, 100, 1 << 20])
def test_compressed_traces_are_read_the_same_way(block_bytes: int) -> None:
    first, second = json.dumps(DOCUMENT).encode()[:300], json.dumps(DOCUMENT).encode()[300:]
    events, stream = read(gzip.compress(first) + gzip.compress(second), block_bytes)
    assert events == names(EVENTS)
    assert stream.metadata == REST


def test_a_truncated_compressed_trace_yields_its_complete_events() -> None:
    events = [event(f"op{number}") for number in range(500)]
    packed = gzip.compress(json.dumps({"traceEvents": events}).encode(), 0)
    result, stream = read(packed[: len(packed) // 2])
    assert 0 < len(result) < 500
    assert result == names(events)[: len(result)]
    assert stream.is_truncated


def test_a_trace_is_read_from_a_path_or_an_open_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps(DOCUMENT).encode()))
    for source in (path, io.BytesIO(path.read_bytes())):
        events = [event.name for some, _ in TraceStream(source).chunks() for event in some]
        assert events == names(EVENTS)


def test_an_invalid_event_does_not_affect_others() -> None:
    text = json.dumps(EVENTS).replace('"correlation": 7', '"memory bandwidth (GB/s)": inf')
    events, stream = read(text.encode())
    assert events == names(EVENTS)
    broken = json.dumps(EVENTS).replace('"correlation": 7', '"correlation": what')
    events, stream = read(broken.encode())
    assert events == names(EVENTS)[:-1]
    assert stream.left_out == 1


def test_a_deeply_nested_event_does_not_affect_others() -> None:
    deep = json.dumps(event("deep", anything="?")).replace('"?"', "[" * 3000 + "]" * 3000)
    content = f"[{json.dumps(event('before'))}, {deep}, {json.dumps(event('after'))}]"
    for block_bytes in (500, 1 << 20):
        events, stream = read(content.encode(), block_bytes)
        assert events == ["before", "after"]
        assert stream.left_out == 1


def test_invalid_unicode_in_a_name_is_replaced() -> None:
    text = json.dumps([event("good"), event("b?d", note="?")]).encode().replace(b"?", b"\xff")
    events, stream = read(text)
    assert events == ["good", "b\ufffdd"]
    assert stream.left_out == 0


def test_values_of_unexpected_types_are_converted() -> None:
    odd = {"ph": "X", "name": 17, "pid": None, "tid": "main", "ts": "2.5", "dur": None, "args": []}
    (events, _), *_ = TraceStream(json.dumps([odd, None, 3]).encode()).chunks()
    (event,) = events
    assert (event.name, event.pid, event.tid, event.ts, event.dur) == ("17", "", "main", 2.5, 0.0)


@pytest.mark.parametrize("content", [b"", b"{}", b"hello", b'{"traceEvents": 3}', b"\x1f\x8bno"])
def test_a_file_that_is_not_a_trace_is_refused(content: bytes) -> None:
    with pytest.raises(DamagedError, match="no trace"):
        read(content)


def test_the_key_of_the_events_inside_a_text_is_ignored() -> None:
    document = {"note": 'see "traceEvents": [1]', "inner": {"traceEvents": []}, **DOCUMENT}
    assert read(json.dumps(document).encode())[0] == names(EVENTS)


def test_both_decoders_return_the_same_events() -> None:
    arguments = {
        "Input Dims": [[1, 2], []],
        "grid": [1, 2, 3],
        "block": [32, 1, 1],
        "correlation": 9,
        "bytes": 12,
        "Collective name": "allreduce",
        "Group size": 2,
        "Sequence number": 4,
        "Fwd thread id": 1,
    }
    listed = json.dumps([event("op", **arguments), event("other")]).encode()
    for plain, typed in zip(
        plain_events.decode_events(listed), typed_events.decode_events(listed), strict=True
    ):
        for name in plain_events.Arguments.__slots__:
            each, plain_event = getattr(plain.args, name), getattr(typed.args, name)
            assert each == (bytes(plain_event) if isinstance(each, bytes) else plain_event), name
        assert (plain.ph, plain.cat, plain.name) == (typed.ph, typed.cat, typed.name)
        assert (plain.pid, plain.tid, plain.ts, plain.dur) == (
            *(typed.pid, typed.tid),
            *(typed.ts, typed.dur),
        )
    assert [json.loads(each) for each in plain_events.decode_arguments(listed) if each] == [
        json.loads(each) for each in typed_events.decode_arguments(listed) if len(each) > 2
    ]


def test_without_msgspec_the_standard_library_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trace_stream, "decode_events", plain_events.decode_events)
    monkeypatch.setattr(trace_stream, "decode_arguments", plain_events.decode_arguments)
    for block_bytes in (50, 1 << 20):
        events, stream = read(json.dumps(DOCUMENT, indent=2).encode(), block_bytes)
        assert events == names(EVENTS)
        assert stream.metadata == REST
