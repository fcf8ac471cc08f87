"""Settings of profile windows."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.errors import UsageError
from sonde.records.profile import ProfileKind, Window
from sonde.settings import (
    DEFAULT_WINDOWS,
    HookSettings,
    load_settings,
    read_profiles,
    requested_windows,
)

OPERATORS, DATALOADER, PYTHON = DEFAULT_WINDOWS

seconds = st.integers(0, 10**9).map(lambda micros: micros / 10**6)
starts = st.fixed_dictionaries({"start_step": st.integers(0, 10**9)}) | st.fixed_dictionaries(
    {"start_step": st.none(), "start_seconds": seconds}
)
lengths = st.fixed_dictionaries({"num_steps": st.integers(1, 10**6)}) | st.fixed_dictionaries(
    {"num_steps": st.just(3), "duration_seconds": seconds}
)
options = st.dictionaries(st.just("profiler"), st.sampled_from(["stacks", "cprofile"]))
windows = st.builds(
    lambda start, length, chosen: Window(ProfileKind.PYTHON, **start, **length, options=chosen),
    *(starts, lengths, options),
)


@given(st.lists(windows, max_size=4).map(tuple))
def test_windows_survive_json(profile: tuple[Window, ...]) -> None:
    settings = HookSettings(profile=profile)
    assert HookSettings.from_json(settings.to_json()) == settings


def test_by_default_three_kinds_profile_early_steps() -> None:
    assert HookSettings().profile == (
        Window(ProfileKind.OPERATORS, 5, 1),
        Window(ProfileKind.DATALOADER, 7, 1),
        Window(ProfileKind.PYTHON, 9, 3),
    )


def test_an_option_changes_only_its_own_kind() -> None:
    changed = read_profiles(["operators:start_step=50,num_steps=2,shapes"], DEFAULT_WINDOWS)
    current = Window(ProfileKind.OPERATORS, 50, 2, options={"shapes": "true"})
    assert changed == (current, DATALOADER, PYTHON)
    repeated = read_profiles(["python:start_time=30s,duration=500ms"], changed)
    timed = Window(ProfileKind.PYTHON, None, 3, 30.0, 0.5)
    assert repeated == (current, DATALOADER, timed)


def test_a_kind_can_have_several_windows() -> None:
    windows = read_profiles(["memory:start_step=2", "memory:start_step=90"], DEFAULT_WINDOWS)
    assert [window.start_step for window in windows if window.kind is ProfileKind.MEMORY] == [2, 90]


def test_none_disables_all_kinds_before_it() -> None:
    assert read_profiles(["none"], DEFAULT_WINDOWS) == ()
    assert read_profiles(["operators", "none", "python"], DEFAULT_WINDOWS) == (PYTHON,)


def test_a_kind_without_options_uses_the_default_window() -> None:
    assert read_profiles(["operators"], ()) == (OPERATORS,)
    [stacks] = read_profiles(["python:profiler=stacks"], ())
    assert (stacks.start_step, stacks.num_steps) == (9, 3)


def test_a_timer_selects_cprofile() -> None:
    [timed] = read_profiles(["python:timer=off_cpu"], ())
    assert timed.options == {"profiler": "cprofile", "timer": "off_cpu"}


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("", ("''", "Choose one of: operators")),
        ("colours", ("'colours'", "Choose one of: operators, dataloader, python")),
        ("operators:start=5", ("start = 5", "start_step")),
        ("operators:start_step=-1", ("start_step", "-1", "0 or more")),
        ("operators:num_steps=0", ("num_steps", "0", "1 or more")),
        ("operators:num_steps=many", ("num_steps", "'many'", "integer")),
        ("operators:duration=5", ("duration", "5", "string")),
        (
            "operators:start_step=5,start_time=5s",
            ("start_step", "start_time", "mutually exclusive"),
        ),
        ("operators:num_steps=5,duration=5s", ("num_steps", "duration", "mutually exclusive")),
        ("operators:shapes=yes", ("shapes", "'yes'", "true or false")),
        ("operators:shapes,shapes", ("duplicate key shapes",)),
        ("operators:timer=cpu", ("timer = 'cpu'", "keep_trace")),
        ("python:profiler=mine", ("profiler", "'mine'", "stacks")),
        ("none:start_step=5", ("'none'", "Choose one of: operators")),
    ],
)
def test_an_invalid_option_is_refused_with_key_value_and_valid_options(
    line: str, named: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError) as error:
        read_profiles([line], ())
    assert all(word in str(error.value) for word in ("--profile", *named))
    assert "\n" not in str(error.value)


def test_windows_can_be_set_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        "[profile]\ndataloader = false\n"
        "operators = [{start_step = 5}, {start_step = 500, num_steps = 2, keep_trace = true}]\n"
        'python = {start_time = "1min", duration = "10s", profiler = "cprofile", timer = "cpu"}\n'
    )
    assert load_settings(file).hook.profile == (
        OPERATORS,
        Window(ProfileKind.OPERATORS, 500, 2, options={"keep_trace": "true"}),
        Window(ProfileKind.PYTHON, None, 3, 60.0, 10.0, {"profiler": "cprofile", "timer": "cpu"}),
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[profile]\ncolours = false", ("colours = False", "operators")),
        ("[profile]\noperators = true", ("operators = True", "must be a table")),
        ("[profile]\noperators = {steps = 5}", ("steps = 5", "num_steps")),
        ("[profile]\nprofile = 5", ("profile = 5", "operators")),
    ],
)
def test_an_invalid_file_is_refused(tmp_path: Path, text: str, named: tuple[str, ...]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        load_settings(file)
    assert all(word in str(error.value) for word in (str(file), "[profile]", *named))


def test_a_request_applies_options_to_the_kinds_that_have_them() -> None:
    windows = requested_windows(
        {"kinds": "operators,python", "steps": "10", "by": "alice", "profiler": "cprofile"}
    )
    assert windows == (
        Window(ProfileKind.OPERATORS, None, 10, by="alice"),
        Window(ProfileKind.PYTHON, None, 10, options={"profiler": "cprofile"}, by="alice"),
    )
    [timed] = requested_windows({"kinds": "memory", "seconds": "2.5"})
    assert (timed.duration_seconds, timed.by) == (2.5, "request")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"kinds": "operators,colours"}, "'colours'"),
        ({"kinds": ""}, "''"),
        ({"kinds": "operators", "steps": "0"}, "1 or more"),
        ({"kinds": "operators", "steps": "ten"}, "'ten'"),
        ({"kinds": "operators", "seconds": "-3"}, "duration"),
        ({"kinds": "operators", "timer": "cpu"}, "Available: keep_trace"),
    ],
)
def test_an_invalid_request_is_refused(arguments: dict[str, str], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        requested_windows(arguments, "sonde profile:")
