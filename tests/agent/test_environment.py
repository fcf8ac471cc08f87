"""The environment of a job, without running the job's Python."""

import subprocess
import sys
from pathlib import Path

import pytest

from sonde import __version__
from sonde.agent import environment as environment_module
from sonde.agent.environment import find_environment, find_interpreter, variables_of


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Return the interpreter of a fake virtual environment."""
    site = tmp_path / "venv" / "lib" / "python3.12" / "site-packages"
    for name in ("torch-2.5.1+cu124", "tokenizers-0.21.0", "my_package-1.0"):
        (site / f"{name}.dist-info").mkdir(parents=True)
    program = tmp_path / "venv" / "bin" / "python3"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 99\n")
    program.chmod(0o755)
    return program


def test_the_packages_of_the_jobs_own_python_are_listed(python: Path, tmp_path: Path) -> None:
    result = find_environment((str(python), "train.py"), tmp_path, {})
    assert result.versions["python"] == "3.12"
    assert result.packages == {
        "torch": "2.5.1+cu124",
        "tokenizers": "0.21.0",
        "my_package": "1.0",
    }


@pytest.mark.parametrize("line", ["#!{python}", "#!/usr/bin/env {python}"])
def test_interpreter_of_a_script_like_torchrun_is_found(
    python: Path, tmp_path: Path, line: str
) -> None:
    tool = tmp_path / "torchrun"
    tool.write_text(f"{line.format(python=python)}\nimport torch\n")
    tool.chmod(0o755)
    assert find_interpreter((str(tool), "--nproc", "2")) == python.parent.parent / "lib/python3.12"


@pytest.mark.parametrize("command", [(), ("no-such-command",), ("sh", "-c", "x"), ("/etc/passwd",)])
def test_command_without_python_has_no_packages(command: tuple[str, ...], tmp_path: Path) -> None:
    assert find_interpreter(command) is None
    assert find_environment(command, tmp_path, {}).packages == {}


def test_the_python_of_these_tests_is_found() -> None:
    library = find_interpreter((sys.executable,))
    assert library is not None
    assert library.name == f"python3.{sys.version_info.minor}"


def test_sonde_version_and_machine_are_recorded(tmp_path: Path) -> None:
    result = find_environment(("true",), tmp_path, {})
    assert result.versions["sonde"] == __version__
    assert int(result.machine["cores"]) >= 1
    assert result.machine["system"].startswith(("Linux", "Darwin"))


def test_secrets_of_the_environment_are_masked(tmp_path: Path) -> None:
    result = find_environment(("true",), tmp_path, {"SOME_TOKEN": "s3cr3t"})
    assert result.environment == {"SOME_TOKEN": "***"}


def test_variables_of_another_process_are_read() -> None:
    # the variables are readable once the program runs, which its first line of output shows
    command = ["/bin/sh", "-c", "echo runs; read end"]
    with subprocess.Popen(
        command, env={"FOO": "bar"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"runs\n"
        assert variables_of(process.pid)["FOO"] == "bar"
        process.kill()
    assert variables_of(2**22 + 1) == {}


def git(folder: Path, *words: str) -> None:
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)


def test_the_commit_of_a_repository_and_whether_it_is_clean(tmp_path: Path) -> None:
    git(tmp_path, "init", "--initial-branch", "main")
    assert find_environment(("true",), tmp_path, {}).git == {}  # nothing was committed yet
    (tmp_path / "model.py").write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--message", "A model")
    (tmp_path / "untracked.txt").touch()
    result = find_environment(("true",), tmp_path, {}).git
    assert len(result["commit"]) == 40
    assert (result["branch"], result["is_clean"]) == ("main", "yes")
    (tmp_path / "model.py").write_text("2")
    assert find_environment(("true",), tmp_path, {}).git["is_clean"] == "no"


def test_missing_or_hanging_git_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(environment_module, "_GIT_SECONDS", 0.05)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert find_environment(("true",), tmp_path, {}).git == {}
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_environment(("true",), tmp_path, {}).git == {}
