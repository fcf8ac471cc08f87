import re

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sonde.exports.prometheus import escape, family_name
from sonde.records.metric import MetricInfo, Series
from tests.exports.openmetrics import parse
from tests.exports.selections import export, select
from tests.fakes.job import FakeJob


def test_an_independent_parser_reads_the_output() -> None:
    uri = "memory://prometheus-of-two/job"
    first = FakeJob(uri, "a").record(
        {"cpu.user_percent": [1.0, 2.0], "gpu.power_watts/gpu0": [300.0, float("nan")]}
    )
    FakeJob(uri, "b").record({"gpu.power_watts/gpu0": [7.0], "gpu.power_watts/gpu1": [8.0]})
    families = parse(export("prometheus", select(first, nodes=("a", "b"))).decode())
    assert families.keys() == {"sonde_cpu_user_percent", "sonde_gpu_power_watts"}
    power = families["sonde_gpu_power_watts"]
    assert (power.kind, power.unit) == ("gauge", "watts")
    assert power.help == "what gpu.power_watts means"
    job, start = ("job", "resnet"), 1_700_000_000.0
    assert power.points == {
        (job, ("node", "a"), ("device", "gpu0")): [(start, 300.0)],
        (job, ("node", "b"), ("device", "gpu0")): [(start, 7.0)],
        (job, ("node", "b"), ("device", "gpu1")): [(start, 8.0)],
    }
    cpu = families["sonde_cpu_user_percent"].points
    assert cpu == {(job, ("node", "a")): [(start, 1.0), (start + 0.5, 2.0)]}


def test_an_empty_job_is_a_valid_exposition() -> None:
    assert export("prometheus", select(FakeJob())) == b"# EOF\n"


def test_a_unit_is_omitted_unless_the_name_ends_with_it() -> None:
    job = FakeJob()
    job.writer.add_sample(1, (Series(MetricInfo("cpu.load_1m", "threads", "load")),), [0.5])
    job.flush()
    families = parse(export("prometheus", select(job)).decode())
    assert families["sonde_cpu_load_1m"].unit == ""


def test_statistics_of_buckets_are_a_label() -> None:
    job = FakeJob().record({"cpu.user_percent": [0.0, 50.0, 100.0, 50.0]})
    families = parse(export("prometheus", select(job, buckets=1)).decode())
    points = families["sonde_cpu_user_percent"].points
    assert {labels[-1]: point[0][1] for labels, point in points.items()} == {
        ("statistic", "minimum"): 0.0,
        ("statistic", "mean"): 50.0,
        ("statistic", "maximum"): 100.0,
    }


@given(device=some.text(some.characters(codec="utf-8", exclude_characters="/"), min_size=1))
def test_any_device_name_survives_the_export(device: str) -> None:
    job = FakeJob()
    help_ = 'a "free"\\ text\nof two lines'
    series = (Series(MetricInfo("disk.free_bytes", "bytes", help_), device),)
    job.writer.add_sample(1_000_000_000, series, [1.0])
    job.flush()
    family = parse(export("prometheus", select(job)).decode())["sonde_disk_free_bytes"]
    assert family.help == help_
    [labels] = family.points
    assert dict(labels)["device"] == device


@given(name=some.text(min_size=1))
def test_any_metric_gets_a_valid_name(name: str) -> None:
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", family_name(name))


@pytest.mark.parametrize(
    ("text", "escaped"), [('a"b', 'a\\"b'), ("a\\n", "a\\\\n"), ("a\nb", "a\\nb")]
)
def test_labels_are_escaped(text: str, escaped: str) -> None:
    assert escape(text) == escaped
