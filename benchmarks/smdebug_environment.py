"""A virtual environment in which smdebug 1.0.34 runs with current Python, NumPy and torch.

torch and NumPy come from the environment that runs the benchmark. The library requires protobuf
3.20, which has no compiled version for current Python, so its generated files are converted for a
current, compiled protobuf. This makes it faster than with its own requirements.
"""

import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

VERSION = "1.0.34"

_SERIALIZED = re.compile(r"serialized_pb=(b'(?:[^'\\]|\\.)*')")
_IMPORTS = re.compile(r"^from smdebug\S+ import \w+_pb2.*$", re.MULTILINE)


def make_environment(folder: Path) -> Path:
    """Create the environment; return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    packages = Path(_output(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))
    (packages / "from_outside.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    _output(python, "-m", "pip", "install", "-q", "--no-deps", f"smdebug=={VERSION}", "protobuf>=5")
    _output(python, "-m", "pip", "install", "-q", "boto3", "packaging")
    _patch(packages / "smdebug")
    return python


def _output(*words: str | Path) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))} failed:\n{done.stderr}")
    return done.stdout.strip()


def _patch(package: Path) -> None:
    _replace(package / "core/tfevent/util.py", r"\.tostring\(\)", ".tobytes()")
    # this profiler is not used, and its pinned version does not build everywhere
    _replace(package / "profiler/python_profiler.py", r"(?m)^from pyinstrument.*\n", "")
    for generated in (package / "core/tfevent/proto").glob("*_pb2.py"):
        generated.write_text(_for_current_protobuf(generated.read_text(encoding="utf-8")))


def _replace(path: Path, pattern: str, replacement: str) -> None:
    text, count = re.subn(pattern, replacement, path.read_text(encoding="utf-8"))
    if not count:
        sys.exit(f"{path} does not match {pattern}. Check that it is smdebug {VERSION}.")
    path.write_text(text, encoding="utf-8")


def _for_current_protobuf(text: str) -> str:
    serialized = _SERIALIZED.search(text)
    if serialized is None:
        sys.exit("A generated file of smdebug has no serialized descriptor.")
    lines = (
        "from google.protobuf import descriptor_pool",
        "from google.protobuf.internal import builder",
        *_IMPORTS.findall(text),
        f"DESCRIPTOR = descriptor_pool.Default().AddSerializedFile({serialized[1]})",
        "builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, globals())",
        "builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, __name__, globals())",
    )
    return "\n".join(lines) + "\n"
