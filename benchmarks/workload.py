"""A small job to sample: a root process and eight children that are mostly idle."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_CHILD = """
import time
while True:
    end = time.process_time() + 0.002
    while time.process_time() < end:
        pass
    time.sleep(0.2)
"""
_ROOT = f"""
import subprocess, sys, time
children = [subprocess.Popen([sys.executable, "-c", {_CHILD!r}]) for _ in range(8)]
try:
    sys.stdin.read()
finally:
    for child in children:
        child.kill()
        child.wait()
"""
_SETTLE_SECONDS = 1.0

# The same tree as the command of a job; it ends when its input is closed.
COMMAND = (sys.executable, "-c", _ROOT)


@contextmanager
def process_tree() -> Iterator[int]:
    """Start the tree and yield the process ID of its root."""
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE) as root:
        time.sleep(_SETTLE_SECONDS)
        yield root.pid
        assert root.stdin is not None
        root.stdin.close()  # the root then kills its children
