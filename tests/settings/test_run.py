"""Settings of a run, from files and the command line."""

from dataclasses import replace
from pathlib import Path

import pytest

from sonde.errors import UsageError
from sonde.settings import (
    KEYS,
    CollectionSettings,
    HookSettings,
    RunSettings,
    load_settings,
    parse_duration,
    parse_interval,
    parse_size,
)


@pytest.fixture(autouse=True)
def an_empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SONDE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("2s", 2), ("1.5s", 1.5), ("5min", 300), ("1h", 3600), (" 1 s ", 1)],
)
def test_durations_are_numbers_with_a_unit(text: str, seconds: float) -> None:
    assert parse_duration(text, "x") == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "s", "-1s", "1d", "1e3s", "nan", "infs", "1s 2s", "١s1"])
def test_invalid_durations_are_refused_with_key_and_value(text: str) -> None:
    with pytest.raises(UsageError, match="--grace") as error:
        parse_duration(text, "--grace")
    assert repr(text) in str(error.value)
    assert "500ms" in str(error.value)


def test_intervals_are_bounded() -> None:
    assert (parse_interval("100ms"), parse_interval("60s"), parse_interval("1min")) == (0.1, 60, 60)
    for text in ("99ms", "61s", "0s", "0ms"):
        with pytest.raises(UsageError, match="100ms to 60s"):
            parse_interval(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [("1B", 1), ("20GB", 20_000_000_000), ("1.5MB", 1_500_000), ("3kb", 3000), ("2TB", 2 * 10**12)],
)
def test_sizes_are_numbers_with_a_unit(text: str, size: int) -> None:
    assert parse_size(text, "x") == size


@pytest.mark.parametrize("text", ["", "20", "GB", "-1GB", "1PB", "lots"])
def test_invalid_sizes_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="20GB"):
        parse_size(text, "disk")


def test_without_a_file_there_are_defaults() -> None:
    settings = load_settings(None)
    assert (settings.name, settings.store, settings.interval_seconds) == (None, "sonde-jobs", 0.5)


def test_defaults_of_the_reference_are_those_of_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    written = [f"{key.section}.{key.name} = {key.default}" for key in KEYS if key.default]
    file.write_text("\n".join(written))
    assert load_settings(file) == RunSettings(file=str(file))


def test_every_key_of_a_file_is_applied(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        "[job]\nname = 'resnet'\n[system]\ninterval = '1s'\n"
        "[budget]\noverhead_percent = 2\ndisk = '5GB'\n"
        "[save]\nstatistics = ['gradients']\nhistogram_every = 7\nstop_on_non_finite = true\n"
        "replica_check_every = 0\n[[save.collection]]\nname = 'labels'\n"
    )
    settings = load_settings(file)
    assert (settings.name, settings.name_in_file) == ("resnet", ("resnet", str(file)))
    assert settings.interval_seconds == 1
    assert (settings.overhead_percent, settings.disk_bytes) == (2, 5_000_000_000)
    labels = (CollectionSettings("labels"),)
    expected = HookSettings(
        ("gradients",), 7, stop_on_non_finite=True, replica_check_every=0, collections=labels
    )
    assert settings.hook == expected
    assert settings.for_workers() == replace(expected, overhead_percent=2.0)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[system]\nintervall = '1s'", ("intervall", "'1s'", "interval")),
        ("[sytem]\ninterval = '1s'", ("sytem", "system")),
        ("interval = '1s'", ("'interval' is not in a section. Put it under [system].",)),
        (
            "job = 3",
            (
                "'job' is not in a section",
                "[budget], [job], [profile], [report], [rules], [save], [system]",
            ),
        ),
        (
            "colour = 3",
            (
                "'colour' is not in a section",
                "[budget], [job], [profile], [report], [rules], [save], [system]",
            ),
        ),
        ("[job]\nstore = '/data'", ("store", "'/data'", "Valid keys: name, price_per_gpu_hour")),
        ("[system]\ninterval = '1ms'", ("interval", "'1ms'", "100ms to 60s")),
        ("[system]\ninterval = 1", ("interval", "1", "string in quotes")),
        ("[job]\nname = true", ("name", "True", "string in quotes")),
        ("[budget]\noverhead_percent = 'one'", ("overhead_percent", "'one'", "number")),
        ("[budget]\noverhead_percent = 0", ("overhead_percent", "0", "up to 100")),
        ("[budget]\noverhead_percent = nan", ("overhead_percent", "nan", "up to 100")),
        ("[budget]\ndisk = 'much'", ("disk", "'much'", "20GB")),
        ("[budget", ("not valid TOML",)),
        ("[save]\nstatistic = []", ("[save]", "statistic = []", "statistics")),
        ("[save]\nstatistics = 'all'", ("statistics", "'all'", "list in square brackets")),
        ("[save]\nstatistics = ['weigths']", ("statistics", "'weigths'", "weights, biases")),
        ("[save]\nstatistics = ['labels']", ("statistics", "'labels'", "optimizer_state")),
        ("[save]\nhistogram_every = -1", ("histogram_every", "-1", "0 or more")),
        ("[save]\nstop_on_non_finite = 1", ("stop_on_non_finite", "1", "true or false")),
        ("[save]\nreplica_check_every = 1.5", ("replica_check_every", "1.5", "integer")),
        ("[save.collection]\nname = 'all'", ("collection", "'all'", "[[save.collection]]")),
        ("[save]\ncollection = ['all']", ("collection", "'all'", "{name = 'gradients'}")),
        ("[[save.collection]]\nevery = 5", ("{'every': 5}", "requires a name")),
        ("[[save.collection]]\nname = 'all'\nevry = 5", ("'all'", "evry = 5", "every")),
        ("[[save.collection]]\nname = 'all'\ntrain = 5", ("train = 5", "{every = 10}")),
        ("[[save.collection]]\nname = 'all'\neval.evry = 5", ("eval: ", "evry = 5", "every")),
    ],
)
def test_an_invalid_file_is_refused_with_key_value_and_valid_options(
    tmp_path: Path, text: str, named: tuple[str, ...]
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        load_settings(file)
    assert all(word in str(error.value) for word in (str(file), *named))
    assert "\n" not in str(error.value)


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not valid TOML"):
        load_settings(tmp_path / "mine.toml")


def test_a_file_next_to_the_script_takes_precedence_over_one_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "sonde.toml").write_text("[job]\nname = 'folder'")
    assert load_settings(None, ("python", "project/train.py")).name == "folder"
    (tmp_path / "project" / "sonde.toml").write_text("[job]\nname = 'script'")
    assert load_settings(None, ("python", "project/train.py", "x.py")).name == "script"
    assert load_settings(None, ("bash", "project/train.sh")).name == "script"
    assert load_settings(None, ("true",)).name == "folder"


def test_an_argument_that_is_not_a_path_is_not_mistaken_for_a_script() -> None:
    assert load_settings(None, ("bash", "-c", f"echo {'x' * 5000}.py")).name is None
    assert load_settings(None, ("python", f"{'x' * 5000}/train.py")).name is None


def test_live_rules_can_be_switched_off(tmp_path: Path) -> None:
    path = tmp_path / "later.toml"
    path.write_text("[rules]\nlive = false\n")
    assert load_settings(path).rules.live is False
    assert load_settings(None).rules.live is True
    path.write_text('[rules]\nlive = "later"\n')
    with pytest.raises(UsageError, match=r"\[rules\] live = 'later' must be true or false"):
        load_settings(path)
