"""Secrets of this process's environment are masked wherever they occur."""

import os

import pytest

from sonde.masking import MASK, mask_command, mask_text

SECRET = "correct-horse-7"


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a job."""
    monkeypatch.setenv("DB_PASSWORD", SECRET)
    monkeypatch.setenv("EXPERIMENT", "resnet50-lr3")
    monkeypatch.setenv("OMP_PROC_BIND", "spread-7")
    monkeypatch.setenv("API_TOKEN", "training")  # a word of other texts
    monkeypatch.setenv("TOKEN_FILE", "/run/secrets/token7")
    monkeypatch.setenv("SEED_TOKEN", "12345678")


def test_the_value_of_a_secret_variable_is_masked_in_any_text() -> None:
    text = f"Login as bob with {SECRET}x failed"
    assert mask_text(text) == f"Login as bob with {MASK}x failed"
    assert mask_command(["login.sh", SECRET]) == ("login.sh", MASK)


def test_a_secret_variable_that_a_script_sets_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Wrong: battery-staple-8"
    assert mask_text(text) == text
    monkeypatch.setenv("LATE_SECRET", "battery-staple-8")
    assert mask_text(text) == f"Wrong: {MASK}"


@pytest.mark.parametrize(
    "text", ["resnet50-lr3 is training", "open /run/secrets/token7", "12345678 rows", "spread-7"]
)
def test_other_values_words_paths_and_numbers_are_kept(text: str) -> None:
    assert mask_text(text) == text


def test_a_dump_of_the_environment_contains_only_values_of_the_allow_list() -> None:
    for dump in (
        str(dict(os.environ)),
        repr(os.environ),
        "\n".join(f"{name}={value}" for name, value in os.environ.items()),
    ):
        masked = mask_text(f"KeyError: 'X' in {dump}")
        assert SECRET not in masked
        assert "resnet50-lr3" not in masked
        assert "spread-7" in masked


def test_an_equal_value_of_another_name_is_kept() -> None:
    text = "run='resnet50-lr3', EXPERIMENT='other-50'"
    assert mask_text(text) == text
