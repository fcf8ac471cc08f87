"""The failing line of the user's code, in tracebacks as Python prints them."""

import subprocess
import sys
from pathlib import Path

from sonde.analyze.tracebacks import FailingLine, failing_line


def traceback_of(script: Path, code: str) -> str:
    script.write_text(code)
    result = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    return result.stderr


def test_the_line_of_the_script_is_found_above_frames_of_packages(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    code = "import json\n\n\ndef load():\n    return json.loads('{')\n\n\nload()\n"
    text = traceback_of(script, code)
    found = failing_line(text)
    assert found is not None
    assert (found.file, found.line, found.function) == (str(script), 5, "load")
    assert found.code == "return json.loads('{')"
    assert text.splitlines()[found.row].strip().startswith(f'File "{script}", line 5')


def test_the_uncaught_exception_of_a_chain_counts(tmp_path: Path) -> None:
    code = "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError from error\n"
    found = failing_line(traceback_of(tmp_path / "train.py", code))
    assert found is not None
    assert (found.line, found.code) == (4, "raise ValueError from error")


def test_exception_groups_name_a_line_of_the_script(tmp_path: Path) -> None:
    code = "raise ExceptionGroup('two', [ValueError('a'), KeyError('b')])\n"
    found = failing_line(traceback_of(tmp_path / "train.py", code))
    assert found is not None
    assert found.line == 1


def test_code_without_source_has_a_line_number_only() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "<string>", line 1, in <module>\n'
        "ValueError: no data"
    )
    assert failing_line(text) == FailingLine("<string>", 1, "<module>", "", 1)


def test_frames_of_packages_alone_name_no_line() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3.11/runpy.py", line 86, in _run_code\n'
        "    exec(code)\n"
        '  File "/x/site-packages/torch/nn/modules/module.py", line 1, in forward\n'
        "    return 1\n"
        "RuntimeError: x"
    )
    assert failing_line(text) is None
    assert failing_line("") is None
