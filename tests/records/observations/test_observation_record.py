"""Records of observations: every record survives its detail, and any detail gives a record."""

import json
from dataclasses import dataclass, fields
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.records.observations import ObservationRecord, keyed
from sonde.records.observations.batches import (
    ClassHits,
    EvaluatedSamples,
    ImageChannels,
    InputSizeChange,
    LabelCounts,
    LossInput,
    MeansOfBatches,
    TokenCounts,
)
from sonde.records.observations.parameters import (
    DistinctUnits,
    KeptGradients,
    LayerUse,
    MissingGradient,
    NonFiniteSource,
    RefusedStep,
    TensorRole,
    UnitActivity,
    UnmovedParameter,
    UnownedParameter,
)
from sonde.records.observations.replicas import ReplicaChecksum, ReplicaFingerprint
from sonde.records.observations.training import ModelMode, OutputSource, Stall

_COUNTS = st.integers(0, 2**40)
_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
_LABELS = st.text(max_size=8)
_TEXTS = st.lists(st.text(max_size=12), max_size=4).map(tuple)
_MEANS = st.lists(_NUMBERS, max_size=6).map(tuple)

RECORDS = {
    UnownedParameter: st.builds(UnownedParameter, st.booleans()),
    MissingGradient: st.builds(
        MissingGradient, st.sampled_from(LayerUse), st.text(), st.booleans(), st.booleans()
    ),
    UnmovedParameter: st.builds(UnmovedParameter, st.none() | _NUMBERS, st.booleans()),
    KeptGradients: st.builds(KeptGradients, st.none() | _COUNTS, st.text()),
    RefusedStep: st.builds(RefusedStep, _TEXTS),
    NonFiniteSource: st.builds(NonFiniteSource, st.text(), st.sampled_from(TensorRole)),
    DistinctUnits: st.builds(DistinctUnits, _COUNTS),
    UnitActivity: st.builds(
        UnitActivity, st.dictionaries(st.sampled_from((0.1, 1, 5, 50)), _COUNTS), _COUNTS
    ),
    ReplicaChecksum: st.builds(ReplicaChecksum, st.from_regex(r"[0-9a-f]{8}"), st.booleans()),
    ReplicaFingerprint: st.builds(
        ReplicaFingerprint, st.lists(_COUNTS, max_size=4).map(tuple), st.booleans()
    ),
    InputSizeChange: st.builds(InputSizeChange, _COUNTS),
    LossInput: st.builds(LossInput, _COUNTS, _COUNTS, st.text()),
    ImageChannels: st.builds(ImageChannels, _MEANS, _MEANS),
    TokenCounts: st.builds(TokenCounts, st.dictionaries(st.integers(), _COUNTS)),
    ClassHits: st.builds(ClassHits, st.dictionaries(_LABELS, st.tuples(_COUNTS, _COUNTS))),
    LabelCounts: st.builds(LabelCounts, st.dictionaries(_LABELS, _COUNTS)),
    EvaluatedSamples: st.builds(EvaluatedSamples, *[_COUNTS] * 8, st.booleans()),
    MeansOfBatches: st.builds(MeansOfBatches, _MEANS, _NUMBERS, _NUMBERS, _COUNTS),
    ModelMode: st.builds(ModelMode, st.text(), _TEXTS),
    Stall: st.builds(Stall, st.text(), _TEXTS),
    OutputSource: st.builds(OutputSource, st.text()),
}

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda values: (
        st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=4), values, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_record_survives_its_detail(kind: type[ObservationRecord]) -> None:
    @given(RECORDS[kind])
    def check(record: ObservationRecord) -> None:
        assert kind.decode(record.encode()) == record

    check()


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_any_detail_gives_a_record_with_fields_of_the_declared_types(
    kind: type[ObservationRecord],
) -> None:
    keys = [item.metadata.get("key", item.name) for item in fields(kind)]
    damaged_fields = st.dictionaries(st.sampled_from(keys), _JSON).map(json.dumps)

    @given(st.text() | _JSON.map(json.dumps) | damaged_fields)
    def check(detail: str) -> None:
        record = kind.decode(detail)
        assert kind.decode(record.encode()) == record or "NaN" in record.encode()

    check()


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_missing_detail_gives_the_defaults(kind: type[ObservationRecord]) -> None:
    assert kind.decode("") == kind()
    assert kind.decode("[" * 100_000) == kind() or kind is ReplicaChecksum
    assert kind.decode('{"a":' * 100_000) == kind()


@pytest.mark.parametrize(
    ("detail", "record"),
    [
        ("over", UnownedParameter(is_over=True)),
        ("over", MissingGradient(is_over=True)),
        ("over", UnmovedParameter(is_over=True)),
        ("cut", MissingGradient(LayerUse.CUT)),
        ("frozen", MissingGradient(LayerUse.FROZEN)),
        ("frozen train.py:8", MissingGradient(LayerUse.FROZEN, "train.py:8", True)),
        ("frozen ", MissingGradient(LayerUse.FROZEN, "", True)),
        ("cleared", MissingGradient(LayerUse.CLEARED)),
        ("untracked my model.py:88", MissingGradient(LayerUse.UNTRACKED, "my model.py:88", True)),
        ("0.001", UnmovedParameter(0.001)),
        ("0", UnmovedParameter(0.0)),
        ("9a3c01ff", ReplicaChecksum("9a3c01ff")),
        ("12345678", ReplicaChecksum("12345678")),
        ("0 1 3 5", ReplicaFingerprint((0, 1, 3, 5))),
        ("wrapped 0 7", ReplicaFingerprint((0, 7), is_wrapped=True)),
        ('{"found":"nan","in":"weight"}', NonFiniteSource("nan", TensorRole.WEIGHT)),
        ('{"is":"eval","modules":["drop"]}', ModelMode("eval", ("drop",))),
        ('{"of":4,"first":""}', KeptGradients(4)),
        (
            '{"in": "loading", "stack": ["main (train.py:3)"]}',
            Stall("loading", ("main (train.py:3)",)),
        ),
        ('{"by": "print"}', OutputSource("print")),
        ('{"inactive":{"0.1":2,"1":3},"samples":32}', UnitActivity({0.1: 2, 1.0: 3}, 32)),
        ('{"counts":{"7":3}}', TokenCounts({7: 3})),
        ('{"0":[2,1]}', ClassHits({"0": (2, 1)})),
        ('{"0":9,"1":10}', LabelCounts({"0": 9, "1": 10})),
        (
            '{"samples":8,"known":2,"repeated":1,"pairs":28,"mixed":12,"trained":64,"rows":70,'
            '"again":6}',
            EvaluatedSamples(8, 2, 1, 28, 12, 64, 70, 6),
        ),
    ],
)
def test_details_of_earlier_versions_give_the_same_record(
    detail: str, record: ObservationRecord
) -> None:
    assert type(record).decode(detail) == record


def test_columns_of_earlier_versions_complete_the_record() -> None:
    assert ReplicaChecksum.decode("9a3c01ff", value=1.0) == ReplicaChecksum("9a3c01ff", True)
    assert RefusedStep.decode("", subject="a.weight, b.bias") == RefusedStep(("a.weight", "b.bias"))
    assert RefusedStep.decode('{"parameters":["a, b"]}', subject="a, b") == RefusedStep(("a, b",))


def test_damaged_field_gets_its_default_and_others_their_value() -> None:
    detail = '{"rows":"many","classes":3,"by":7}'
    assert LossInput.decode(detail) == LossInput(0, 3, "")


@pytest.mark.parametrize(
    ("percent", "inactive"), [(0.0, 2), (0.1, 2), (0.5, 2), (7.0, 4), (100.0, 9)]
)
def test_inactive_units_are_those_of_the_next_lower_percentage(
    percent: float, inactive: int
) -> None:
    activity = UnitActivity({0.1: 2, 5.0: 4, 50.0: 9}, samples=32)
    assert activity.inactive_below(percent) == inactive
    assert UnitActivity().inactive_below(percent) is None


@dataclass(frozen=True, slots=True)
class LargestBias(ObservationRecord):
    """A record that another package declares next to its check."""

    parameter: str = ""
    step_of_class: int | None = keyed("class", None)


def test_record_of_another_package_needs_only_its_fields() -> None:
    record = LargestBias("head.bias", 3)
    assert record.encode() == '{"parameter":"head.bias","class":3}'
    row = SimpleNamespace(subject="0", value=0.5, detail=record.encode())
    assert LargestBias.of(row) == record
    assert LargestBias().encode() == ""
