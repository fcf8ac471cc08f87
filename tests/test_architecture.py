"""The house rules, held by a machine: rooms, sizes, names, and what an import may cost."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonde.records.notice import NoticeKind
from tests.fakes.job import FakeJob

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "sonde"
BASICS = {"errors", "clock", "settings", "plugins", "guard", "masking"}

# room -> what it may import; the basics may lean on each other, and everybody on them
MAY_IMPORT = {
    "records": set(),
    "basics": {"records"},
    "store": {"records", "basics"},
    "collect": {"records", "basics", "store"},
    "read": {"records", "basics", "store"},
    "analyze": {"records"},
    "rules": {"records", "basics", "read", "analyze"},
    "act": {"records", "basics", "store"},
    "watch": {"records", "basics", "store", "read", "rules", "act"},
    "show": {"records", "basics", "store", "read", "analyze"},
    "client": {
        *("records", "basics", "store", "collect", "read", "analyze"),
        *("rules", "act", "watch", "show"),
    },
    "cli": {
        *("records", "basics", "store", "collect", "read", "analyze"),
        *("rules", "act", "watch", "show", "client", "front"),
    },
    "front": {"act", "client", "cli", "collect", "basics", "rules", "records"},
}
# the version is a fact about the package, not a part of its front door
FRONT_NAMES_FOR_ALL = {"__version__"}

MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 40
MOST_PARAMETERS = 6
FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "helper", "core", "base", "misc"}
MOST_WAIVERS = 12

FILES = sorted(PACKAGE.rglob("*.py"))

# They run before anything of ours is loaded, in processes that are not ours: nothing they could
# lean on is there, and nothing may come out of them.
START_UP = PACKAGE / "collect" / "inject" / "sitecustomize.py"
INJECTED = PACKAGE / "collect" / "injected.py"

# A training script as people write them: no part of the package, only carried by it.
DEMO_SCRIPT = PACKAGE / "show" / "demo_pytorch.py"


def room_of(parts: tuple[str, ...]) -> str:
    if parts[0] in BASICS:
        return "basics"
    return "front" if len(parts) == 1 and not (PACKAGE / parts[0]).is_dir() else parts[0]


def imports_of(tree: ast.AST) -> Iterator[str]:
    """Every module of ours that is imported anywhere in a file, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "sonde":
            names = (alias.name for alias in node.names)
            yield from (f"sonde.{name}" for name in names if name not in FRONT_NAMES_FOR_ALL)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_imports_only_what_its_room_may(path: Path) -> None:
    room = room_of(path.relative_to(PACKAGE).with_suffix("").parts)
    for name in imports_of(ast.parse(path.read_text())):
        parts = tuple(name.split(".")[1:])
        if name.split(".")[0] != "sonde" or not parts:
            continue
        other = room_of(parts)
        assert other == room or other in MAY_IMPORT[room], f"{room} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_and_its_functions_are_short(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= MOST_LINES_OF_A_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            given = [*node.args.args, *node.args.posonlyargs, *node.args.kwonlyargs]
            given = [one for one in given if one.arg not in ("self", "cls")]
            assert length <= MOST_LINES_OF_A_FUNCTION, f"{node.name} has {length} lines"
            assert len(given) <= MOST_PARAMETERS, f"{node.name} has {len(given)} parameters"


def test_no_file_or_folder_is_a_bin() -> None:
    names = {part for path in FILES for part in path.relative_to(PACKAGE).with_suffix("").parts}
    assert not names & FORBIDDEN_NAMES


def test_every_folder_of_the_package_says_what_it_is() -> None:
    for folder in {path.parent for path in FILES}:
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text())), folder


def test_only_settings_reads_the_environment() -> None:
    for path in FILES:
        if path.parent.name != "settings" and path != START_UP:
            for node in ast.walk(ast.parse(path.read_text())):
                is_read = isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv")
                assert not is_read, f"{path}:{getattr(node, 'lineno', 0)}"


def test_only_the_guard_swallows_everything() -> None:
    for path in FILES:
        if path.name != "guard.py" and path not in (INJECTED, START_UP):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ExceptHandler) and ast.unparse(node.body[-1]) != "raise":
                    caught = ast.unparse(node.type) if node.type else ""
                    assert caught not in ("", "Exception", "BaseException"), path


def test_only_the_clock_reads_time() -> None:
    for path in FILES:
        if path.name != "clock.py" and path != DEMO_SCRIPT:
            imported = set(imports_of(ast.parse(path.read_text())))
            assert "time" not in imported, path


def test_waivers_of_the_linter_stay_few() -> None:
    waivers = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in FILES
        for line in path.read_text().splitlines()
        if "# noqa" in line or "# type: ignore" in line
    ]
    assert len(waivers) <= MOST_WAIVERS, "\n".join(waivers)
    assert all(" — " in waiver for waiver in waivers), "every waiver carries its reason"


HEAVY = (
    *("numpy", "pyarrow", "pandas", "polars", "rich", "psutil", "pynvml", "obstore"),
    *("starlette", "uvicorn", "torch", "tensorflow", "jax", "msgspec"),
)


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=170
    )
    return set(done.stdout.split())


def test_importing_sonde_loads_nothing_heavy() -> None:
    assert not modules_after("import sonde") & set(HEAVY)


def test_the_launcher_loads_nothing_heavy() -> None:
    statement = "import sonde.cli.run, sonde.collect.launch, sonde.store.backends.local"
    assert not modules_after(statement) & set(HEAVY)


def test_reading_a_job_loads_no_data_frames(tmp_path: Path) -> None:
    job = FakeJob(str(tmp_path / "job")).record({"cpu.user_percent": [1, 2, 3]})
    job.writer.notice(NoticeKind.CHANGED, "interval", "for this test")
    worker = job.worker().step(0, {"forward": 1.0}).scalar("loss", 0, 1.0)
    worker.statistics("w", 0, [1.0]).flush()
    job.flush().end()
    statement = (
        f"import sonde; job = sonde.open_job({str(tmp_path / 'job')!r}); "
        "job.summary; job.system().statistics(); job.system().to_arrow(); job.system().buckets(9); "
        "repr(job.steps()); repr(job.losses.reduced()); repr(job.tensor('w').reduction('mean'))"
    )
    assert not modules_after(statement) & {"pandas", "polars"}


def test_importing_sonde_is_quick() -> None:
    code = "import time; t = time.process_time(); import sonde; print(time.process_time() - t)"
    seconds = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(5)
    ]
    assert min(seconds) < 0.1
