"""A Python with its libraries loaded, of which every script gets a fork instead of a new process.

Loading PyTorch takes a process seconds. What is compared here knows no difference: a fork has the
folder, the output, the exit code and the end of a Python that was just started; only tracebacks
begin with a frame more.
"""

import atexit
import gc
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any


class WarmPython:
    """Runs scripts, one at a time; it starts when there is a first one."""

    def __init__(self, libraries: Sequence[str], environment: Mapping[str, str]) -> None:
        self._libraries = libraries
        self._environment = dict(environment)
        self._server: subprocess.Popen[str] | None = None

    def run(self, script: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
        """A script in a folder, to its end."""
        outputs = [folder.with_name(f"{folder.name}.{name}") for name in ("stdout", "stderr")]
        server = self._started()
        assert server.stdin is not None
        assert server.stdout is not None
        print(json.dumps([str(script), str(folder), *map(str, outputs)]), file=server.stdin)
        server.stdin.flush()
        code = int(server.stdout.readline())
        said = [output.read_text() for output in outputs]
        return subprocess.CompletedProcess([str(script)], code, *said)

    def _started(self) -> "subprocess.Popen[str]":
        if self._server is None:
            self._server = subprocess.Popen(
                [sys.executable, __file__, *self._libraries],
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            atexit.register(self._end)
        return self._server

    def _end(self) -> None:
        if self._server is not None:
            self._server.communicate()  # nothing more to run: it ends


def _serve() -> None:
    """Runs what is asked for, line by line, and answers with exit codes."""
    requests, answers = os.fdopen(os.dup(0)), os.dup(1)
    for library in sys.argv[1:]:
        importlib.import_module(library)
    gc.freeze()  # what is loaded is not looked at again at the end of every fork
    for line in requests:
        pid = os.fork()
        if not pid:
            os.close(requests.fileno())
            os.close(answers)
            _become(*json.loads(line))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(answers, f"{code}\n".encode())


def _become(script: str, folder: str, *outputs: str) -> None:
    """Turns this process into a Python that runs a script, and ends as that one would."""
    os.chdir(folder)
    _put(os.open(os.devnull, os.O_RDONLY), 0)
    for number, output in enumerate(outputs, 1):
        _put(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv[:] = [script]
    sys.path[0] = str(Path(script).parent)
    main = ModuleType("__main__")
    names: dict[str, Any] = vars(main)
    names["__file__"] = script
    sys.modules["__main__"] = main
    exec(compile(Path(script).read_bytes(), script, "exec"), names)
    sys.exit()


def _put(source: int, target: int) -> None:
    os.dup2(source, target)
    os.close(source)


if __name__ == "__main__":
    _serve()
