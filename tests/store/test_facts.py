"""JSON documents: readable, checked, and compatible with older and newer writers."""

import json
import zlib
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.errors import DamagedError, FormatTooNewError
from sonde.records.job import (
    Attempt,
    Exit,
    ExitReason,
    Heartbeat,
    JobInfo,
    JobState,
    Launcher,
    Overhead,
    Surroundings,
)
from sonde.records.metric import MetricInfo, Series
from sonde.records.renamed import renamed
from sonde.records.request import Reply, Request, RequestKind
from sonde.store.facts import build_record, decode_facts, encode_facts
from sonde.store.manifest import Extent, Manifest, RollupBlock, SealedFile, SourceSegment
from tests.fakes.damage import all_flips

TEXT = st.text(max_size=30)
NUMBER = st.integers(-(2**63), 2**63 - 1)
SECONDS = st.floats(allow_nan=False)
TEXTS = st.dictionaries(TEXT, TEXT, max_size=4)
WORDS = st.lists(TEXT, max_size=4).map(tuple)
EXTENTS = st.builds(Extent, NUMBER, NUMBER, NUMBER, st.none() | NUMBER, st.none() | NUMBER)
FILES = st.builds(SealedFile, TEXT, NUMBER, NUMBER, WORDS)
SERIES = st.builds(Series, st.builds(MetricInfo, TEXT, TEXT, TEXT), TEXT)
RECORDS = st.one_of(
    st.builds(JobInfo, TEXT, NUMBER, TEXT),
    st.builds(
        Attempt,
        *(TEXT, NUMBER, NUMBER, WORDS, TEXT, NUMBER),
        st.builds(Launcher, NUMBER, TEXT, TEXT),
        SECONDS,
    ),
    st.builds(Surroundings, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS),
    st.builds(
        Exit,
        *(st.sampled_from(JobState), st.sampled_from(ExitReason), NUMBER),
        *(st.none() | NUMBER, st.none() | TEXT, st.none() | TEXT, WORDS),
    ),
    st.builds(Heartbeat, NUMBER, SECONDS, st.builds(Overhead, SECONDS, NUMBER, SECONDS)),
    st.builds(Request, TEXT, st.sampled_from(RequestKind), NUMBER, TEXTS),
    st.builds(Reply, TEXT, TEXT, NUMBER, st.booleans(), TEXT),
    st.builds(
        Manifest,
        *(TEXT, TEXT, EXTENTS, st.lists(EXTENTS, max_size=3).map(tuple)),
        st.lists(st.builds(SourceSegment, TEXT, NUMBER), max_size=3).map(tuple),
        st.lists(SERIES, max_size=3).map(tuple),
        *(st.none() | FILES, st.none() | FILES),
        st.lists(
            st.builds(RollupBlock, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER), max_size=2
        ).map(tuple),
        NUMBER,
    ),
)
EXIT = Exit(JobState.FAILED, ExitReason.SIGNAL, 5, None, "SIGSEGV", "it fell", ("7 sleep",))


def signed(body: dict[str, object]) -> bytes:
    """Return a document as another version would write it."""
    rest = json.dumps(body)[1:].encode() + b"\n"
    return f'{{"crc32": "{zlib.crc32(rest):08x}",\n'.encode() + rest


@given(RECORDS)
@settings(max_examples=200)
def test_every_record_is_decoded_exactly(record: object) -> None:
    assert decode_facts(type(record), encode_facts(record), "a.json") == record


def test_a_document_is_plain_json() -> None:
    document = json.loads(encode_facts(EXIT))

    assert document["format"] == 1
    assert document["state"] == "failed"
    assert document["left_running"] == ["7 sleep"]


def test_every_flipped_bit_is_detected() -> None:
    for bit, damaged in all_flips(encode_facts(EXIT)):
        with pytest.raises(DamagedError, match=r"exit\.json is damaged"):
            decode_facts(Exit, damaged, "exit.json")
        assert bit >= 0


def test_every_truncation_is_detected() -> None:
    document = encode_facts(EXIT)

    for length in range(len(document)):
        with pytest.raises(DamagedError, match=r"exit\.json is damaged"):
            decode_facts(Exit, document[:length], "exit.json")


def test_a_newer_format_is_refused_with_advice_to_upgrade() -> None:
    document = signed({"format": 2, "name": "resnet", "created_ns": 1, "created_by": "a"})

    with pytest.raises(FormatTooNewError) as caught:
        decode_facts(JobInfo, document, "job.json")

    assert str(caught.value) == (
        "job.json has format 2; this version of Sonde reads up to 1. "
        "Upgrade with: pip install -U sonde"
    )


def test_missing_fields_of_older_writers_have_their_defaults() -> None:
    document = signed({"format": 1, "state": "failed", "reason": "exit", "end_ns": 5, "code": 3})

    assert decode_facts(Exit, document, "exit.json") == Exit(
        JobState.FAILED, ExitReason.EXIT, 5, code=3
    )


def test_unknown_fields_of_newer_writers_are_ignored() -> None:
    document = signed(
        {"format": 1, "name": "resnet", "created_ns": 1, "created_by": "a", "colour": "red"}
    )

    assert decode_facts(JobInfo, document, "job.json") == JobInfo("resnet", 1, "a")


def test_a_record_of_another_kind_is_an_error_that_names_it() -> None:
    with pytest.raises(DamagedError, match=r"job\.json is not a valid JobInfo"):
        decode_facts(JobInfo, encode_facts(EXIT), "job.json")


def test_only_records_can_be_encoded() -> None:
    with pytest.raises(TypeError, match="is not a record"):
        encode_facts({"name": "resnet"})


def test_nested_records_are_validated() -> None:
    @dataclass(frozen=True)
    class Outer:
        exits: tuple[Exit, ...]

    outer = Outer((EXIT, replace(EXIT, code=1)))

    assert json.loads(encode_facts(outer))["exits"][1]["code"] == 1


@dataclass(frozen=True)
class Renamed:
    """A record with fields that had other names."""

    rule: str
    configuration: str = renamed("asked")
    attempt: int = renamed("leg", default=0)


def test_a_renamed_field_is_read_under_its_earlier_name() -> None:
    body = {"rule": "LossSpike", "asked": "{}", "leg": 2}
    assert build_record(Renamed, body) == Renamed("LossSpike", "{}", 2)


def test_a_renamed_field_is_read_under_its_name_and_keeps_its_default() -> None:
    assert build_record(Renamed, {"rule": "A", "configuration": "{}"}) == Renamed("A", "{}", 0)
