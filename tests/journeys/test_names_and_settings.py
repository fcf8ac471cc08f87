"""Invalid names and settings are refused before the command starts."""

import json
import re
import subprocess

import pytest

from tests.journeys.sonde_cli import PYTHON, Sonde, plain_environment


def refuse(sonde: Sonde, code: int, *words: str) -> str:
    """Return the line on stderr of a refused run."""
    done = sonde.run("run", *words, "touch", "started")
    assert done.returncode == code
    assert not (sonde.folder / "started").exists()
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("sonde: ")
    return lines[0]


def job_names(sonde: Sonde) -> list[str]:
    done = sonde.run("jobs", "--json")
    return [job["job"] for job in json.loads(done.stdout)]


def test_a_name_in_use_is_refused_before_the_command_starts(finished: Sonde) -> None:
    line = refuse(finished, 1, "--name", "job")
    assert "'job' already exists" in line
    assert "--resume" in line


@pytest.mark.parametrize("name", ["a/b", ""])
def test_a_bad_name_is_a_usage_error(sonde: Sonde, name: str) -> None:
    assert "Invalid job name" in refuse(sonde, 2, "--name", name)


def test_jobs_that_start_at_the_same_time_get_different_names(sonde: Sonde) -> None:
    together = [sonde.start("run", PYTHON, "-c", "pass") for _ in range(3)]
    assert [process.wait(120) for process in together] == [0, 0, 0]
    names = job_names(sonde)
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"python[\d.]*-\d{8}-\d{6}(-\d)?", name) for name in names)


def test_a_job_is_named_after_its_script(sonde: Sonde) -> None:
    (sonde.folder / "train_resnet.py").touch()
    sonde.run("run", PYTHON, "-u", "train_resnet.py", "--epochs", "3")
    (name,) = job_names(sonde)
    assert name.startswith("train_resnet-2")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[system]\nintervall = '1s'", ("intervall", "'1s'", "interval")),
        ("[system]\ninterval = '1ms'", ("interval", "'1ms'", "100ms to 60s")),
    ],
)
def test_an_invalid_setting_is_named_with_its_value_and_valid_options(
    sonde: Sonde, text: str, named: tuple[str, ...]
) -> None:
    (sonde.folder / "mine.toml").write_text(text)
    line = refuse(sonde, 2, "--config", "mine.toml")
    assert all(word in line for word in ("mine.toml", *named))


def test_a_missing_configuration_is_a_usage_error(sonde: Sonde) -> None:
    assert "nowhere.toml" in refuse(sonde, 2, "--config", "nowhere.toml")


def test_an_invalid_interval_is_a_usage_error(sonde: Sonde) -> None:
    assert "2min" in refuse(sonde, 2, "--interval=2min")


def test_a_configuration_next_to_the_script_is_found(sonde: Sonde) -> None:
    (sonde.folder / "project").mkdir()
    (sonde.folder / "project" / "train.py").touch()
    settings = "[job]\nname = 'from-file'\n[system]\ninterval = '250ms'\n"
    (sonde.folder / "project" / "sonde.toml").write_text(settings)
    assert sonde.run("run", PYTHON, "project/train.py").returncode == 0
    assert sonde.status("from-file")["runs"][0]["interval_seconds"] == 0.25


def test_the_command_line_takes_precedence_over_the_file(sonde: Sonde) -> None:
    (sonde.folder / "sonde.toml").write_text("[job]\nname = 'file'\n[system]\ninterval = '1s'\n")
    assert sonde.run("run", "--name", "mine", "--interval", "2s", "true").returncode == 0
    assert sonde.status("mine")["runs"][0]["interval_seconds"] == 2


def test_a_missing_command_is_a_usage_error(sonde: Sonde) -> None:
    for words in ((), ("--",)):
        done = sonde.run("run", *words)
        assert done.returncode == 2
        assert done.stderr.decode().count("\n") == 1


def test_the_default_store_is_ignored_by_git(sonde: Sonde) -> None:
    sonde.run("run", "--name", "job", "true")
    assert (sonde.folder / "sonde-jobs" / ".gitignore").read_text() == "*\n"


def test_the_store_can_be_set_in_the_environment(sonde: Sonde) -> None:
    path = sonde.folder / "elsewhere"
    sonde.run("run", "--name", "job", "true", env={"SONDE_STORE": str(path)})
    assert (path / "job" / "job.json").exists()
    assert not (sonde.folder / "sonde-jobs").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("attach", "four"),
        ("no-such-command",),
        ("run", "--no-such-option", "true"),
        ("status",),
        ("status", "nobody"),
        ("stop", "nobody"),
    ],
)
def test_errors_are_one_line_and_never_a_traceback(sonde: Sonde, words: tuple[str, ...]) -> None:
    done = sonde.run(*words)
    assert done.returncode in (1, 2)
    assert done.stdout == b""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(b"sonde")


def test_help_and_version_exit_with_0(sonde: Sonde) -> None:
    for words in (("--help",), ("run", "--help"), ("--version",)):
        done = sonde.run(*words)
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"sonde" in done.stdout
    done = subprocess.run(
        [f"{PYTHON.rpartition('/')[0]}/sonde", "--version"],
        capture_output=True,
        env=plain_environment(),
        check=True,
    )
    assert done.stdout.startswith(b"sonde ")
