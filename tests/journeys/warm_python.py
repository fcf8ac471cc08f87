"""A Python with libraries loaded, which runs each script in a fork instead of a new process.

Loading PyTorch takes seconds per process. A fork has the working directory, output, exit code and
shutdown of a new Python process; only its tracebacks begin with a few extra frames.
"""

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from types import ModuleType
from typing import Any

from tests.journeys import warm_client


class WarmPython:
    """Runs scripts; the process starts with the first one."""

    def __init__(self, libraries: Sequence[str], environment: Mapping[str, str]) -> None:
        self._libraries = libraries
        self._environment = dict(environment)
        self._name = f"sonde-tests-{uuid.uuid4().hex}"
        self._starting = Lock()
        self._server: subprocess.Popen[bytes] | None = None

    def run(
        self, script: Path, folder: Path, variables: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a script in a folder to its end, with additional environment variables."""
        self._start()
        environment = {**self._environment, **(variables or {})}
        with (
            Path(os.devnull).open() as nothing,
            TemporaryFile("w+") as output,
            TemporaryFile("w+") as errors,
        ):
            streams = [entry.fileno() for entry in (nothing, output, errors)]
            words = [str(script)]
            code = warm_client.fork_of(self._name, words, str(folder), environment, streams)
            for file in (output, errors):
                file.seek(0)
            return subprocess.CompletedProcess(words, code, output.read(), errors.read())

    def command(self) -> tuple[str, ...]:
        """Return a command that acts as `python`: it runs a script, or `-c`, in a fork."""
        self._start()
        return (sys.executable, warm_client.__file__, self._name)

    def _start(self) -> None:
        with self._starting:
            if self._server is None:
                self._server = self._started()
                atexit.register(self._server.communicate)  # the closed stdin makes it exit

    def _started(self) -> "subprocess.Popen[bytes]":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(f"\0{self._name}")
            listening.listen()
            number = listening.fileno()
            return subprocess.Popen(
                [sys.executable, "-m", __name__, str(number), *self._libraries],
                cwd=Path(__file__).parent.parent.parent,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=[number],
            )


def _serve(number: int, libraries: Sequence[str]) -> None:
    """Run requested scripts until all clients are gone."""
    listening = socket.socket(fileno=number)
    listening.set_inheritable(False)
    for library in libraries:
        import_module(library)
    gc.freeze()  # the garbage collector skips loaded modules at the end of every fork
    while 0 not in select.select([0, number], [], [])[0]:
        asking, _ = listening.accept()
        if not os.fork():
            listening.close()
            _keep(asking)
        asking.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _keep(asking: socket.socket) -> None:
    """Run a script and reply with its exit code; kill it if the client disconnects."""
    length, streams, _, _ = socket.recv_fds(asking, 4, 3)
    with asking.makefile("rb") as file:
        words, folder, environment = json.loads(file.read(int.from_bytes(length, "big")))
    pid = os.fork()
    if not pid:
        asking.close()
        _become(words, folder, environment, streams)
    for stream in (0, *streams):
        os.close(stream)
    if asking.fileno() in select.select([asking.fileno(), os.pidfd_open(pid)], [], [])[0]:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(OSError):
        asking.sendall(f"{code}\n".encode())
    os._exit(0)


def _become(
    words: list[str], folder: str, environment: Mapping[str, str], streams: Sequence[int]
) -> None:
    """Turn this process into a Python that runs a script and exits as that would."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # the environment may name another folder
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # recreate the streams, whose buffering depends on what they are connected to
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    sys.argv[:] = words
    sys.orig_argv[:] = [sys.executable, *words]
    if words[0] == "-c":
        script, text = "<string>", sys.argv.pop(1).encode()
        sys.path[0] = ""
    else:
        script, text = words[0], Path(words[0]).read_bytes()
        sys.path[0] = str(Path(script).parent)
    if "PYTHONPATH" in environment:
        sys.path[1:1] = environment["PYTHONPATH"].split(os.pathsep)
        with suppress(ImportError):  # as at the start of Python
            import_module("sitecustomize")
    main = ModuleType("__main__")
    names: dict[str, Any] = vars(main)
    if words[0] != "-c":
        names["__file__"] = script
    sys.modules["__main__"] = main
    exec(compile(text, script, "exec"), names)
    sys.exit()


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2:])
