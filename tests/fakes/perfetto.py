"""What Perfetto demands of a trace, where it would warn or drop something: checked strictly."""

from collections import defaultdict
from typing import Any

Event = dict[str, Any]
Place = tuple[int, int]

_METADATA = {
    "process_name": "name",
    "process_sort_index": "sort_index",
    "thread_name": "name",
    "thread_sort_index": "sort_index",
}


def check_trace(document: dict[str, Any]) -> None:
    """Fails where anything is not as it must be."""
    assert isinstance(document["traceEvents"], list)
    assert document["displayTimeUnit"] in ("ms", "ns")
    events: list[Event] = document["traceEvents"]
    for event in events:
        _check_one(event)
    processes = _named(events, "process_name")
    threads = _named(events, "thread_name")
    assert len({tid for _, tid in threads}) == len(threads), "threads are told apart by number"
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


def _check_one(event: Event) -> None:
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


def _named(events: list[Event], kind: str) -> dict[Place, str]:
    found: dict[Place, str] = {}
    for event in events:
        if event["ph"] == "M" and event["name"] == kind:
            place = (event["pid"], event.get("tid", 0))
            assert place not in found, "named twice"
            assert event["args"]["name"]
            found[place] = event["args"]["name"]
    return found


def _nanoseconds(microseconds: float) -> int:
    assert round(microseconds * 1000) == int(microseconds * 1000), "read alike by all"
    return int(microseconds * 1000)  # as Perfetto does it


def _slices(events: list[Event]) -> dict[Place, list[tuple[int, int]]]:
    found: dict[Place, list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            start = _nanoseconds(event["ts"])
            found[event["pid"], event["tid"]].append((start, start + _nanoseconds(event["dur"])))
    return found


def _check_nesting(rows: list[tuple[int, int]]) -> None:
    open_ends: list[int] = []
    for start, end in sorted(rows, key=lambda one: (one[0], -one[1])):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1], "slices of a track overlap"
        open_ends.append(end)


def _check_flows(events: list[Event], slices: dict[Place, list[tuple[int, int]]]) -> None:
    ends: dict[int, dict[str, Event]] = defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            assert event["ph"] not in ends[event["id"]], "a flow begins and ends once"
            ends[event["id"]][event["ph"]] = event
    for flow in ends.values():
        assert set(flow) == {"s", "f"}
        assert flow["s"]["ts"] <= flow["f"]["ts"]
        for event in flow.values():
            at = _nanoseconds(event["ts"])
            rows = slices[event["pid"], event["tid"]]
            assert any(start <= at < end for start, end in rows), "a flow lies in no slice"
