"""The installed package: few dependencies and a complete wheel."""

import os
import subprocess
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
MAX_PACKAGES = 20


def installed_with(name: str, packages: set[str]) -> set[str]:
    """Return a distribution and all its dependencies on this machine, without extras."""
    try:
        needed = [Requirement(text) for text in requires(name) or ()]
    except PackageNotFoundError:
        return packages
    for requirement in needed:
        key = requirement.name.lower().replace("_", "-")
        is_needed = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if is_needed and key not in packages:
            packages.add(key)
            installed_with(key, packages)
    return packages


def test_a_plain_install_stays_small() -> None:
    packages = installed_with("sonde", set())
    assert {"numpy", "pyarrow"} <= packages
    assert len(packages) + 1 <= MAX_PACKAGES, sorted(packages)


def test_the_wheel_runs_without_the_repository(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
        timeout=170,
    )
    [wheel] = tmp_path.glob("sonde-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "unpacked")
    modules = (ROOT / "src").rglob("*.py")
    missing = {str(path.relative_to(ROOT / "src")) for path in modules} - names
    assert not missing
    assert "sonde/py.typed" in names
    done = subprocess.run(
        [sys.executable, "-m", "sonde", "run", "--quiet", "--", sys.executable, "-c", "exit(7)"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "unpacked")},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 7
    assert list((tmp_path / "sonde-jobs").glob("python*"))
