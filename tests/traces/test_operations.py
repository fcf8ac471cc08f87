"""Traces decoded into operations: categories, lanes, times and launching calls."""

import json
from typing import Any

import numpy as np
import pytest

from sonde.store.encode import encode_columns
from sonde.store.format import OPERATIONS
from sonde.traces.operations import Trace, decode_trace

BASE_NS = 1_700_000_000_000_000_000


def span(name: str, ts: float, dur: float, cat: str = "cpu_op", **more: Any) -> dict[str, Any]:
    args = more.pop("args", {})
    thread = {"pid": 100, "tid": 100, **more}
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "args": args, **thread}


def kernel(name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    arguments = {"device": 0, "stream": 7, "grid": [8, 1, 1], "block": [32, 1, 1], **args}
    return span(name, ts, dur, "kernel", pid=0, tid=7, args=arguments)


def named(kind: str, name: str, **thread: Any) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "args": {"name": name}, "pid": 100, "tid": 100, **thread}


def decoded(*events: dict[str, Any], anchors: Any = (), **document: Any) -> Trace:
    text = json.dumps({"baseTimeNanoseconds": BASE_NS, **document, "traceEvents": list(events)})
    return decode_trace(text.encode(), anchors)


def rows(trace: Trace) -> list[dict[str, Any]]:
    columns = [name for name, _ in OPERATIONS.columns]
    return [
        dict(zip(columns, row, strict=True))
        for batch in trace.batches(3)
        for row in zip(*batch.columns, strict=True)
    ]


def row_of(trace: Trace, name: str) -> dict[str, Any]:
    (found,) = [row for row in rows(trace) if row["name"] == name]
    return found


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("cpu_op", "operator"),
        ("Operator", "operator"),
        ("kernel", "kernel"),
        ("Kernel", "kernel"),
        ("gpu_memcpy", "copy"),
        ("Memcpy", "copy"),
        ("gpu_memset", "set"),
        ("cuda_runtime", "runtime"),
        ("cuda_driver", "runtime"),
        ("Runtime", "runtime"),
        ("user_annotation", "annotation"),
        ("gpu_user_annotation", "annotation"),
        ("python_function", "python"),
        ("overhead", "overhead"),
        ("mtia_ccp_events", "other"),
        ("", "other"),
    ],
)
def test_categories_of_old_and_new_traces_are_normalized(theirs: str, ours: str) -> None:
    assert rows(decoded(span("x", 0, 1, theirs)))[0]["category"] == ours


def test_host_collectives_have_a_category_and_device_collectives_a_detail() -> None:
    arguments = {"Collective name": "allreduce", "In msg nelems": 4096, "dtype": "Float"}
    facts = {
        **arguments,
        "Group size": 2,
        "Process Group Name": "0",
        "Process Group Ranks": "[0, 1]",
    }
    trace = decoded(
        span("record_param_comms", 0, 5, args=facts),
        span("gloo:all_reduce", 10, 5, "user_annotation"),
        kernel("ncclDevKernel_AllReduce", 20, 5, **facts),
    )
    assert [row["category"] for row in rows(trace)] == ["collective", "collective", "kernel"]
    detail = json.loads(row_of(trace, "ncclDevKernel_AllReduce")["detail"])
    assert detail["collective"] == "allreduce"
    assert detail["elements_in"] == 4096
    assert (detail["group"], detail["group_size"], detail["ranks"]) == ("0", 2, "[0, 1]")


def test_steps_of_the_profiler_are_annotations_in_all_versions() -> None:
    assert rows(decoded(span("ProfilerStep#3", 0, 1, "Operator")))[0]["category"] == "annotation"


def test_new_traces_count_from_a_base_and_are_exact_to_the_nanosecond() -> None:
    trace = decoded(span("x", 3868719610680.921, 56457.427))
    assert trace.start_ns.tolist() == [BASE_NS + 3868719610680921]
    assert trace.duration_ns.tolist() == [56457427]
    assert trace.is_absolute


def test_old_traces_count_from_the_epoch() -> None:
    trace = decode_trace(json.dumps([span("x", 1_700_000_000_123_456, 7)]).encode())
    assert trace.start_ns.tolist() == [1_700_000_000_123_456_000]
    assert trace.is_absolute


def test_a_trace_without_a_date_starts_at_the_given_time() -> None:
    content = json.dumps([span("x", 50, 7), span("y", 60.5, 7)]).encode()
    trace = decode_trace(content, start_ns=BASE_NS)
    assert trace.start_ns.tolist() == [BASE_NS, BASE_NS + 10_500]
    assert not trace.is_absolute


def test_a_base_time_after_the_events_is_used() -> None:
    text = json.dumps({"traceEvents": [span("x", 1, 1)], "baseTimeNanoseconds": BASE_NS})
    assert decode_trace(text.encode()).start_ns.tolist() == [BASE_NS + 1000]


def test_one_anchor_shifts_the_clock_and_two_correct_its_rate() -> None:
    anchor = span("sonde.anchor.0", 1000, 10, "user_annotation")
    last = span("sonde.anchor.1", 3000, 10, "user_annotation")
    ours = BASE_NS + 10**9
    item = decoded(anchor, span("x", 2005, 1), anchors=[("sonde.anchor.0", ours)])
    assert row_of(item, "x")["start_ns"] == ours + 1_000_000
    anchors = [("sonde.anchor.0", ours), ("sonde.anchor.1", ours + 2_000_200)]
    two = decoded(anchor, span("x", 2005, 1), last, anchors=anchors)
    assert row_of(two, "x")["start_ns"] == ours + 1_000_100
    assert len(two) == 1


def test_lanes_are_threads_and_streams() -> None:
    trace = decoded(
        span("a", 0, 1),
        span("b", 0, 1, tid=200),
        span("c", 0, 1, tid=300),
        kernel("k", 0, 1),
        span("copy", 0, 1, "gpu_memcpy", pid=1, tid=9, args={"device": 1, "stream": 9}),
        named("thread_name", "thread 100 (python3)"),
        named("thread_name", "pt_autograd_0", tid=200),
    )
    found_lanes = {row["name"]: (row["lane"], row["device"]) for row in rows(trace)}
    assert found_lanes == {
        "a": ("thread 100 (python3)", "cpu"),
        "b": ("thread 200 (pt_autograd_0)", "cpu"),
        "c": ("thread 300", "cpu"),
        "k": ("stream 7", "cuda:0"),
        "copy": ("stream 9", "cuda:1"),
    }


def test_threads_of_several_processes_are_separate_lanes() -> None:
    trace = decoded(
        span("a", 0, 1, pid=1, tid=1),
        span("b", 0, 1, pid=2, tid=1),
        named("process_name", "trainer", pid=1),
    )
    assert [row["lane"] for row in rows(trace)] == ["trainer: thread 1", "2: thread 1"]


def test_self_time_excludes_nested_operations_of_the_same_lane() -> None:
    trace = decoded(
        span("outer", 0, 100),
        span("inner", 10, 30),
        span("cudaLaunchKernel", 20, 5, "cuda_runtime"),
        span("elsewhere", 10, 30, tid=7),
    )
    self_times = {row["name"]: row["self_ns"] for row in rows(trace)}
    assert self_times == {
        "outer": 70_000,
        "inner": 25_000,
        "cudaLaunchKernel": 5_000,
        "elsewhere": 30_000,
    }


def test_the_span_of_the_profiler_is_not_an_operation() -> None:
    assert len(decoded(span("PyTorch Profiler (0)", 0, 9, "Trace", pid="Spans"))) == 0


def test_flows_and_instants_are_not_operations() -> None:
    flow = {"ph": "s", "id": 1, "pid": 100, "tid": 100, "ts": 1, "cat": "ac2g", "name": "ac2g"}
    instant = {"ph": "i", "pid": 100, "tid": 100, "ts": 1, "name": "[memory]"}
    assert [row["name"] for row in rows(decoded(flow, span("x", 0, 1), instant))] == ["x"]


def test_separate_begin_and_end_events_are_paired_per_lane() -> None:
    def edge(ph: str, name: str, ts: float, tid: int = 1) -> dict[str, Any]:
        return {"ph": ph, "name": name, "ts": ts, "pid": 1, "tid": tid}

    trace = decoded(
        edge("B", "outer", 0),
        edge("B", "other lane", 1, tid=2),
        edge("B", "inner", 2),
        edge("E", "", 5),
        edge("E", "", 9),
        edge("E", "", 4, tid=2),
        edge("E", "never begun", 10),
        edge("B", "never ended", 11),
    )
    found_lanes = {row["name"]: (row["duration_ns"], row["self_ns"]) for row in rows(trace)}
    assert found_lanes == {"outer": (9000, 6000), "inner": (3000, 3000), "other lane": (3000, 3000)}


def test_operations_belong_to_the_innermost_enclosing_module() -> None:
    trace = decoded(
        span("sonde.module.encoder", 0, 100, "user_annotation"),
        span("aten::linear", 5, 20),
        span("sonde.module.encoder.norm", 30, 50, "user_annotation"),
        span("aten::layer_norm", 40, 20),
        span("cudaLaunchKernel", 45, 3, "cuda_runtime", args={"correlation": 11}),
        span("aten::add", 110, 5),
        kernel("layer_norm_kernel", 200, 9, correlation=11),
    )
    module = {row["name"]: row["module"] for row in rows(trace)}
    assert module["aten::linear"] == "encoder"
    assert module["aten::layer_norm"] == "encoder.norm"
    assert module["layer_norm_kernel"] == "encoder.norm"
    assert module["aten::add"] == ""


def test_backward_operators_belong_to_the_module_of_their_forward_operator() -> None:
    backward: dict[str, Any] = {"tid": 200, "args": {"Sequence number": 5, "Fwd thread id": 1}}
    trace = decoded(
        # it has the same sequence number but did not create the autograd node
        span("aten::detach", 1, 1, args={"Sequence number": 5, "Fwd thread id": 0}),
        span("sonde.module.head", 10, 50, "user_annotation"),
        span("aten::addmm", 20, 5, args={"Sequence number": 5, "Fwd thread id": 0}),
        span("autograd::engine::evaluate_function: AddmmBackward0", 100, 30, **backward),
        span("aten::mm", 110, 10, tid=200),
        span("cudaLaunchKernel", 112, 2, "cuda_runtime", tid=200, args={"correlation": 3}),
        kernel("gemm", 120, 4, correlation=3),
        span("aten::mm elsewhere", 140, 10, tid=200),
    )
    module = {row["name"]: row["module"] for row in rows(trace)}
    assert module["aten::mm"] == module["gemm"] == "head"
    assert module["aten::detach"] == module["aten::mm elsewhere"] == ""
    detail = row_of(trace, "autograd::engine::evaluate_function: AddmmBackward0")["detail"]
    assert json.loads(detail) == {"pass": "backward"}


def test_details_keep_shapes_sizes_and_launch_geometry() -> None:
    trace = decoded(
        span("aten::mm", 0, 1, args={"Input Dims": [[2, 3], [3, 4]], "External id": 5}),
        kernel("gemm", 0, 1, **{"est. achieved occupancy %": 25}),
        span(
            "Memcpy HtoD",
            0,
            1,
            "gpu_memcpy",
            args={"bytes": 4096, "memory bandwidth (GB/s)": 2.5, "device": 0, "stream": 7},
        ),
        span("plain", 0, 1),
    )
    details = {row["name"]: row["detail"] for row in rows(trace)}
    assert details["aten::mm"] == '{"shapes":[[2,3],[3,4]]}'
    assert json.loads(details["gemm"]) == {
        "grid": [8, 1, 1],
        "block": [32, 1, 1],
        "occupancy_percent": 25,
    }
    assert json.loads(details["Memcpy HtoD"]) == {"bytes": 4096, "gigabytes_per_second": 2.5}
    assert details["plain"] == ""


def test_events_of_other_writers_keep_all_their_arguments() -> None:
    trace = decoded(span("fusion.1", 0, 1, "", args={"long_name": "%fusion", "n": [1, 2]}))
    assert rows(trace)[0]["detail"] == '{"long_name":"%fusion","n":[1,2]}'


def test_unusual_characters_and_numbers_are_decoded() -> None:
    text = json.dumps([span("x", 0, 1, "mine", args={"note": "?", "n": 17})])
    odd = text.encode().replace(b"?", b"\xff").replace(b"17", b"nan")
    (row,) = rows(decode_trace(odd))
    assert json.loads(row["detail"]) == {"note": "\ufffd", "n": None}


def test_rows_are_in_order_of_time_and_can_be_written() -> None:
    trace = decoded(*(span(f"op{n}", (n * 7919) % 1000, 1) for n in range(200)))
    assert (np.diff(trace.start_ns) >= 0).all()
    batches = list(trace.batches(64))
    assert [len(batch.columns[0]) for batch in batches] == [64, 64, 64, 8]
    for batch in batches:
        assert batch.first_ns == min(batch.columns[4])
        assert batch.last_ns == max(batch.columns[4])
        assert encode_columns(OPERATIONS, batch.columns)


def test_a_trace_without_operations_can_be_decoded() -> None:
    trace = decoded(deviceProperties=[{"name": "H200"}])
    assert len(trace) == 0
    assert list(trace.batches()) == []
    assert trace.metadata["deviceProperties"] == [{"name": "H200"}]


@pytest.mark.parametrize("block_bytes", [100, 1000, 100_000])
def test_the_result_does_not_depend_on_the_chunk_size(block_bytes: int) -> None:
    events = [span(f"op{n % 7}", n, 30 - n % 30, args={"Input Dims": [[n % 5]]}) for n in range(99)]
    text = json.dumps({"traceEvents": events}, indent=1).encode()
    assert rows(decode_trace(text, block_bytes=block_bytes)) == rows(decode_trace(text))
