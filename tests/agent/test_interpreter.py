"""Commands whose Python cannot load the hook."""

import zlib
from pathlib import Path

import pytest

from sonde.agent.handover import INJECT_FOLDER
from sonde.agent.interpreter import STARTUP_CRC32, why_isolated, why_not_recorded

FOLDER = Path("/ours/inject")
INTACT = (INJECT_FOLDER / "sitecustomize.py").read_bytes()


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("python -I train.py", "-I"),
        ("/usr/bin/python3.12 -E train.py", "-E"),
        ("python3 -u -S train.py", "-S"),
        ("python -Iu train.py", "-I"),
        ("python -uI -m train", "-I"),
        ("python -X importtime -W error -I train.py", "-I"),
        ("python -Wignore -Xdev -E train.py", "-E"),
        ("env A=1 nice -n 5 python -I train.py", "-I"),
        ("torchrun --no-python python -I train.py", "-I"),
        ("pypy3 -I train.py", "-I"),
    ],
)
def test_isolating_option_is_detected(line: str, option: str) -> None:
    reason = why_isolated(line.split(), FOLDER)
    assert reason is not None
    assert option in reason


@pytest.mark.parametrize(
    "line",
    [
        "python train.py -I -E -S",
        "python -m train -I",
        "python -c pass -I",
        "python -um train -S",
        "python -X E train.py",
        "python -WI train.py",
        "python - -I",
        "python -P -B -OO train.py",
        "python --check-hash-based-pycs always train.py",
        "torchrun --nproc-per-node 2 train.py -I",
        "grep -I python file",
        "train -I",
    ],
)
def test_options_of_other_programs_are_ignored(line: str) -> None:
    assert why_isolated(line.split(), FOLDER) is None


def test_isolating_option_in_a_shebang_is_detected(tmp_path: Path) -> None:
    script = tmp_path / "train"
    script.write_text("#!/usr/bin/python3 -I\nprint()\n")
    script.chmod(0o755)
    reason = why_isolated([str(script)], FOLDER)
    assert reason is not None
    assert reason.startswith("python3 -I")


@pytest.mark.parametrize("content", [b"#!/usr/bin/env python3\n", b"\x7fELF", b""])
def test_ordinary_programs_and_scripts_are_not_isolated(tmp_path: Path, content: bytes) -> None:
    program = tmp_path / "train"
    program.write_bytes(content)
    program.chmod(0o755)
    assert why_isolated([str(program)], FOLDER) is None


def test_folder_that_cannot_be_on_the_path_is_reported(tmp_path: Path) -> None:
    assert why_isolated(["python", "x.py"], Path("/a:b/inject")) is not None


DAMAGED = [None, b"", b"def (", b"\0", b"raise SystemExit(3)\n", INTACT[:-1], INTACT + b"\n"]


@pytest.mark.parametrize("content", DAMAGED)
@pytest.mark.parametrize("command", [["python", "train.py"], ["sh", "train.sh"]])
def test_missing_or_damaged_startup_module_is_reported(
    tmp_path: Path, command: list[str], content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "sitecustomize.py").write_bytes(content)
    reason = why_not_recorded(command, tmp_path)
    assert reason is not None
    assert reason.startswith("Sonde's hook could not be loaded")


def test_checksum_of_the_startup_module_is_current() -> None:
    assert zlib.crc32(INTACT) == STARTUP_CRC32, "run `make startup`"


def test_intact_startup_module_is_not_reported() -> None:
    assert why_not_recorded(["python", "train.py"], INJECT_FOLDER) is None
