"""Write what the startup module awaits, from the adapters, and its checksum: `make startup`."""

import re
import zlib
from pathlib import Path

from sonde.agent import interpreter
from sonde.agent.handover import INJECT_FOLDER
from sonde.hook.frameworks import ADAPTERS
from sonde.hook.frameworks._on_torch import OnTorch

STARTUP = INJECT_FOLDER / "sitecustomize.py"
CHECKSUM = Path(interpreter.__file__)

_LIST = re.compile(r"^_BY_ADAPTERS = \([^)]*\)$", re.MULTILINE)
_CRC32 = re.compile(r"^STARTUP_CRC32 = \w+$", re.MULTILINE)


def modules_of_adapters() -> dict[str, tuple[str, ...]]:
    """The modules that each adapter awaits; PyTorch comes before what is built on it."""
    names = [name for name in ADAPTERS.names() if ADAPTERS.has_file(name)]
    names.sort(key=lambda name: (issubclass(ADAPTERS.load(name), OnTorch), name))
    return {name: ADAPTERS.load(name).awaits for name in names}


def files() -> dict[Path, str]:
    """The current texts of both files."""
    modules = [module for awaited in modules_of_adapters().values() for module in awaited]
    lines = "".join(f'    "{module}",\n' for module in modules)
    startup = _LIST.sub(f"_BY_ADAPTERS = (\n{lines})", STARTUP.read_text())
    # hexadecimal as ruff formats it
    checksum = f"STARTUP_CRC32 = 0x{zlib.crc32(startup.encode()):08X}"
    return {STARTUP: startup, CHECKSUM: _CRC32.sub(checksum, CHECKSUM.read_text())}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
