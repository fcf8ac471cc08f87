"""Settings of the hook."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.errors import UsageError
from sonde.records.schedule import Schedule
from sonde.records.step import Mode
from sonde.records.tensor import BUILT_IN_COLLECTIONS, Reduction
from sonde.settings import CollectionSettings, HookSettings, parse_save, read_collections

EVERYWHERE = dict.fromkeys(Mode, Schedule())

schedules = st.one_of(
    st.builds(Schedule, steps=st.frozensets(st.integers(0, 10**9), min_size=1)),
    st.builds(
        lambda every, start, length: Schedule(every, start, length and start + length),
        st.integers(1, 10**6),
        st.integers(0, 10**6),
        st.none() | st.integers(1, 10**6),
    ),
)
collections = st.builds(
    CollectionSettings,
    name=st.sampled_from(sorted(BUILT_IN_COLLECTIONS)),
    include=st.none() | st.sampled_from(["relu|tanh", "^fc1\\.", "x{1,3}", 'ü"\n']),
    schedules=st.dictionaries(st.sampled_from(Mode), schedules, min_size=1),
    reductions=st.lists(st.sampled_from(Reduction), unique=True).map(tuple),
    values=st.booleans(),
    histogram=st.booleans(),
)


@given(
    st.builds(
        HookSettings,
        statistics=st.lists(st.sampled_from(["weights", "gradients", "optimizer_state"])).map(
            tuple
        ),
        histogram_every=st.integers(0, 10**9),
        inspections=st.booleans(),
        stop_on_non_finite=st.booleans(),
        stop_rule=st.sampled_from(["", "ExplodingTensor"]),
        replica_check_every=st.integers(0, 10**9),
        collections=st.lists(collections, max_size=4).map(tuple),
        overhead_percent=st.floats(0.001, 100),
        needed=st.none() | st.lists(st.sampled_from(["relu_output", "batch-hash", "*"])).map(tuple),
    )
)
def test_settings_survive_json(settings: HookSettings) -> None:
    assert HookSettings.from_json(settings.to_json()) == settings


@pytest.mark.parametrize("line", ["", "{", "[]", "3", '{"statistics": 5}', '{"colour": 1}'])
def test_an_invalid_variable_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match="SONDE_HOOK"):
        HookSettings.from_json(line)


@pytest.mark.parametrize("name", sorted(BUILT_IN_COLLECTIONS))
def test_a_built_in_collection_needs_only_its_name(name: str) -> None:
    assert parse_save(name) == CollectionSettings(name, schedules=EVERYWHERE)


def test_every_key_can_be_set_on_the_command_line() -> None:
    line = "mine:include=relu|tanh,every=500,start=10,end=2000,reductions=mean+std,values,histogram"
    assert parse_save(line) == CollectionSettings(
        "mine",
        "relu|tanh",
        dict.fromkeys(Mode, Schedule(500, 10, 2000)),
        (Reduction.MEAN, Reduction.STD),
        values=True,
        histogram=True,
    )
    assert parse_save("losses:steps=1+5+10").schedules[Mode.EVAL] == Schedule(
        steps=frozenset((1, 5, 10))
    )
    assert parse_save("labels:values=false,histogram=true") == CollectionSettings(
        "labels", histogram=True
    )


@pytest.mark.parametrize("include", ["x{1,3}", "a=b", "a:b", "(conv|fc)\\.weight$", "a,B"])
def test_regular_expressions_can_contain_separators(include: str) -> None:
    saved = parse_save(f"mine:include={include},every=3")
    assert (saved.include, saved.schedules[Mode.TRAIN].every) == (include, 3)


def test_a_mode_overrides_the_general_schedule() -> None:
    saved = parse_save("weights:every=10,start=5,train.every=2,eval.steps=7")
    assert saved.schedules == {
        Mode.TRAIN: Schedule(2, 5),
        Mode.EVAL: Schedule(steps=frozenset((7,))),
        Mode.PREDICT: Schedule(10, 5),
    }
    listed = parse_save("weights:steps=1+2,train.every=3")
    assert listed.schedules[Mode.TRAIN] == Schedule(3)
    assert listed.schedules[Mode.EVAL] == Schedule(steps=frozenset((1, 2)))


def test_a_schedule_for_one_mode_disables_the_others() -> None:
    assert parse_save("weights:eval.every=2").schedules == {Mode.EVAL: Schedule(2)}


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("", ("''", "name")),
        (":every=3", ("''", "name")),
        ("losses,gradients", ("'losses,gradients'", "letters")),
        ("mine", ("mine", "include", "losses, metrics, weights")),
        ("weights:evry=10", ("evry", "'10'", "every")),
        ("weights:every=0", ("every", "0", "1 or more")),
        ("weights:every=-3", ("every", "-3", "1 or more")),
        ("weights:every=ten", ("every", "'ten'", "integer")),
        ("weights:every=1.5", ("every", "'1.5'", "integer")),
        ("weights:every", ("every", "True", "integer")),
        ("weights:start=-1", ("start", "-1", "0 or more")),
        ("weights:start=5,end=5", ("end = 5", "start = 5", "greater than")),
        ("weights:steps=1+x", ("steps", "'x'", "integer")),
        ("weights:steps=", ("steps", "''", "integer")),
        ("weights:steps=1,every=2", ("steps", "every", "mutually exclusive")),
        ("weights:train.steps=1,train.every=2", ("steps", "every", "mutually exclusive")),
        ("weights:every=1,every=2", ("every", "duplicate")),
        ("weights:name=x", ("name", "duplicate")),
        ("weights:train=3,train.every=2", ("train.every", "duplicate")),
        ("weights:test.every=2", ("test", "train")),
        ("weights:train.values", ("train: ", "values", "every")),
        ("weights:reductions=mean+avg", ("reductions", "'avg'", "mean, std")),
        ("weights:values=yes", ("values", "'yes'", "true or false")),
        ("mine:include=(", ("include", "'('", "not a regular expression")),
    ],
)
def test_an_invalid_text_is_refused_with_key_value_and_valid_options(
    line: str, named: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError) as error:
        parse_save(line)
    assert all(word in str(error.value) for word in (f"--save {line!r}", *named))
    assert "\n" not in str(error.value)


def test_an_empty_list_of_steps_is_refused() -> None:
    with pytest.raises(UsageError, match=r"steps = \[\] is empty"):
        read_collections({"name": "weights", "steps": []})


def test_collections_are_texts_tables_or_a_list_of_both() -> None:
    text, table = "weights:every=2", {"name": "weights", "every": 2}
    (expected,) = read_collections(text)
    assert read_collections(table) == (expected,)
    assert read_collections([text, table]) == read_collections((table, text)) == (expected,) * 2


@pytest.mark.parametrize("value", [3, [None], {"every": 2}, {"name": 3}])
def test_invalid_collections_are_refused(value: object) -> None:
    with pytest.raises(UsageError, match="save"):
        read_collections(value)


def test_collections_of_the_command_line_replace_those_of_the_file() -> None:
    file = HookSettings(collections=read_collections(["weights:every=2", "labels"]))
    line = read_collections(["weights:every=3", "weights:every=100,values"])
    assert file.overridden_by(line).collections == (*line, *read_collections("labels"))


def test_collections_of_the_script_do_not_override_those_of_the_launcher() -> None:
    line = HookSettings(collections=read_collections("weights:every=2"))
    script = read_collections(["weights:every=3", "labels"])
    assert line.filled_with(script).collections == read_collections(["weights:every=2", "labels"])
