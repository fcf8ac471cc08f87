"""Queries for jobs."""

import pytest

from sonde.errors import UsageError
from sonde.records.job_summary import Annotations, JobSummary, LaunchFacts, ListedJob, Outcome
from sonde.results.job_query import parse_query

JOB = ListedJob(
    "resnet-7",
    JobSummary(
        Outcome("failed", "2026-11-18T08:00:00Z", None, 900.0, "CUDA out of memory"),
        LaunchFacts("python train.py", "/code/train.py", ("node-0",), ("gpu-12",), 2, "main", "1f"),
        {"critical": 1},
        ("LossSpike",),
        "LossSpike: The loss jumped.",
        {"train": 1200},
        metrics={"loss": 0.25, "eval/accuracy": 0.91},
    ),
    Annotations(("baseline",), "sweep-3", "new scheduler"),
)


@pytest.mark.parametrize(
    "query",
    [
        *("", "resnet", "memory", "scheduler", "RESNET cuda", "name:net-7", "state:failed"),
        *("state:over", "host:gpu-*", "host:node", "branch:main", "commit:1f", "script:train.py"),
        *("rule:lossspike", "rule:Loss*", "severity:critical", "tag:baseline", "group:sweep-3"),
        *("note:'new scheduler'", "date:2026-11", "date>=2026-11-18", "date<2026-12"),
        *("duration>10min", "duration:900", "steps>=1200", "findings=1", "loss<0.5"),
        *("eval/accuracy>0.9", "-tag:old", "-loss>0.5", "host:gpu-* loss<0.5 resnet", "steps>"),
    ],
)
def test_a_query_matches_words_fields_dates_and_metrics(query: str) -> None:
    assert parse_query(query).matches(JOB)


@pytest.mark.parametrize(
    "query",
    [
        *("bert", "state:completed", "state:fail", "tag:base", "branch:dev", "-state:failed"),
        *("date:2026-12", "date<2026-11-18", "duration>1h", "steps<5", "loss>0.5", "other<1"),
        *("resnet state:running", "https://example.org"),
    ],
)
def test_a_query_excludes_other_jobs(query: str) -> None:
    assert not parse_query(query).matches(JOB)


@pytest.mark.parametrize("query", ["steps>abc", "state<3", "loss=low"])
def test_an_invalid_term_is_an_error_that_names_it(query: str) -> None:
    with pytest.raises(UsageError, match="Invalid query"):
        parse_query(query)
