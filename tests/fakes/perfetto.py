"""Check traces strictly for everything that Perfetto would warn about or drop."""

from collections import defaultdict
from typing import Any

Event = dict[str, Any]
ThreadKey = tuple[int, int]

_METADATA = {
    "process_name": "name",
    "process_sort_index": "sort_index",
    "thread_name": "name",
    "thread_sort_index": "sort_index",
}


def check_trace(document: dict[str, Any]) -> None:
    """Fail unless the trace is valid."""
    assert isinstance(document["traceEvents"], list)
    assert document["displayTimeUnit"] in ("ms", "ns")
    events: list[Event] = document["traceEvents"]
    for event in events:
        _check_event(event)
    processes = _named(events, "process_name")
    threads = _named(events, "thread_name")
    assert len({tid for _, tid in threads}) == len(threads), "thread numbers must be unique"
    assert not {tid for _, tid in threads} & {pid for pid, _ in processes}
    for event in events:
        if event["ph"] != "M":
            assert (event["pid"], 0) in processes, event
        if event["ph"] in "Xsf":
            assert (event["pid"], event["tid"]) in threads, event
    slices = _slices(events)
    for rows in slices.values():
        _check_nesting(rows)
    _check_flows(events, slices)


def _check_event(event: Event) -> None:
    assert event["ph"] in ("X", "M", "C", "s", "f"), event
    assert type(event["pid"]) is int
    assert isinstance(event["name"], str)
    assert event["name"]
    if event["ph"] == "M":
        assert set(event["args"]) == {_METADATA[event["name"]]}
        return
    assert isinstance(event["ts"], int | float)
    assert event["ts"] >= 0
    if event["ph"] == "C":
        assert event["args"]
        assert all(isinstance(value, int | float) for value in event["args"].values())
        return
    assert type(event["tid"]) is int
    assert isinstance(event["cat"], str)
    if event["ph"] == "X":
        assert isinstance(event["dur"], int | float)
        assert event["dur"] >= 0
        assert isinstance(event["args"], dict)
    else:
        assert type(event["id"]) is int
        assert event["ph"] == "s" or event["bp"] == "e"


def _named(events: list[Event], kind: str) -> dict[ThreadKey, str]:
    names: dict[ThreadKey, str] = {}
    for event in events:
        if event["ph"] == "M" and event["name"] == kind:
            key = (event["pid"], event.get("tid", 0))
            assert key not in names, "named twice"
            assert event["args"]["name"]
            names[key] = event["args"]["name"]
    return names


def _nanoseconds(microseconds: float) -> int:
    assert round(microseconds * 1000) == int(microseconds * 1000), (
        "timestamps must be whole nanoseconds"
    )
    return int(microseconds * 1000)  # like Perfetto


def _slices(events: list[Event]) -> dict[ThreadKey, list[tuple[int, int]]]:
    slices: dict[ThreadKey, list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            start = _nanoseconds(event["ts"])
            slices[event["pid"], event["tid"]].append((start, start + _nanoseconds(event["dur"])))
    return slices


def _check_nesting(rows: list[tuple[int, int]]) -> None:
    open_ends: list[int] = []
    for start, end in sorted(rows, key=lambda row: (row[0], -row[1])):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1], "slices of a track overlap"
        open_ends.append(end)


def _check_flows(events: list[Event], slices: dict[ThreadKey, list[tuple[int, int]]]) -> None:
    ends: dict[int, dict[str, Event]] = defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            assert event["ph"] not in ends[event["id"]], "a flow must begin and end once"
            ends[event["id"]][event["ph"]] = event
    for flow in ends.values():
        assert set(flow) == {"s", "f"}
        assert flow["s"]["ts"] <= flow["f"]["ts"]
        for event in flow.values():
            at = _nanoseconds(event["ts"])
            rows = slices[event["pid"], event["tid"]]
            assert any(start <= at < end for start, end in rows), "a flow is outside all slices"
