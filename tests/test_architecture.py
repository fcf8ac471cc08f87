"""Rules of the code base: imports, sizes, names, and the cost of imports."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from sonde.records.notice import NoticeKind
from tests.fakes.job import FakeJob

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "sonde"
BASICS = {
    *("errors", "clock", "settings", "plugins", "guard", "masking"),
    *("atomic_file", "bounded_cache", "bounded_calls", "formats", "side_process"),
}

SHARED = {"records", "basics"}
SHOWING = {*SHARED, "store", "read", "analyze", "results", "charts", "drawing"}
EVERYTHING_BELOW_CLIENT = {
    *SHOWING,
    *("traces", "tfevents", "agent", "hook", "importers", "rules", "engine", "actions"),
    *("web", "report", "terminal", "exports", "demo"),
}

# package -> the packages and single modules it may import; see
# docs/design/0003-packages-and-plugins.md
MAY_IMPORT = {
    "records": set(),
    "basics": {"records"},
    "store": SHARED,
    "traces": SHARED,
    "drawing": SHARED,
    "agent": {*SHARED, "store", "traces"},
    "hook": {*SHARED, "store"},
    "tfevents": {"formats"},
    "importers": {*SHARED, "store", "traces", "tfevents"},
    # memory profiles are stored as traces; summaries use the definitions of quantities
    "read": {*SHARED, "store", "traces", "analyze"},
    "analyze": {"records", "formats"},
    "rules": {*SHARED, "read", "analyze"},
    "actions": {*SHARED, "store"},
    "engine": {*SHARED, "store", "read", "results", "rules", "actions"},
    "results": {*SHARED, "store", "read", "analyze", "drawing"},
    "charts": {*SHARED, "store", "read", "analyze", "results", "drawing"},
    "web": {*SHOWING, "report", "exports"},
    "report": SHOWING,
    "terminal": SHOWING,
    "exports": {*SHOWING, "tfevents"},
    "demo": {*SHARED, "client", "drawing"},
    "client": EVERYTHING_BELOW_CLIENT,
    "cli": {*EVERYTHING_BELOW_CLIENT, "client", "front"},
    "front": {*EVERYTHING_BELOW_CLIENT, "client", "cli"},
}
# all packages may use the version
FRONT_NAMES_FOR_ALL = {"__version__"}

MAX_LINES_OF_A_FILE = 400
MAX_LINES_OF_A_FUNCTION = 40
MAX_PARAMETERS = 6
MAX_ATTRIBUTES = 15
MAX_WAIVERS = 12
FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "helper", "core", "base", "misc"}

# Classes above the limit, with their number of attributes. Numbers may only decrease, and no entry
# may be added.
LARGE_CLASSES = {
    # values with one field for each threshold, recorded column or argument of a trace event
    "analyze.batch_cycles.Calibration": 22,
    "rules.tensors.loss_not_decreasing.Calibration": 19,
    "rules.steps.step_outlier.Calibration": 18,
    "rules.steps.loss_diverging.Calibration": 18,
    "rules.steps.throughput_drop.Calibration": 16,
    "traces.operations.Trace": 21,
    "traces.typed_events.Arguments": 19,
    "traces.plain_events.Arguments": 19,
    "records.python_profile.PythonProfile": 20,
    "records.loading.LoaderRecord": 17,
    "records.finding.Evaluation": 17,
}

# Names that consist only of these words do not say what a value is.
VAGUE_WORDS = {
    *("one", "ones", "found", "known", "said", "told", "own", "given", "kept", "asked", "seen"),
    *("looks", "look", "wanted", "taken", "left", "nought", "whole", "usual", "place", "places"),
    *("part", "parts", "most", "least", "much", "few", "many", "likely", "likes", "alike"),
    *("other", "others", "again", "beside", "among", "stands"),
}
MAX_VAGUE_PERCENT = 0.5  # of all names; the rest are keys of recorded files

# A number before a unit, or before the percent sign.
UNIT = re.compile(
    r"%| ?([µmn]?s|min|h|[kKMGT]?i?B|W|MHz|°C)(?![\w:=/.-])| (seconds?|minutes?|hours?|bytes)\b"
)
# Modules that may write such numbers without `sonde.formats`.
PLAIN_NUMBERS = {
    "formats": "the formatter itself",
    "actions._action": "a duration as users write it in a configuration file",
    "agent.sealer": "an option of a command",
    "drawing.axes": "a clock on an axis: 1:05 h",
    "drawing.svg_bars": "commands of an SVG path",
    "results.timeline": "offsets of clocks, exact to the nanosecond",
    "rules.steps.overall_framework_metrics": "names of values, without a number",
    "settings.profile": "durations in a configuration file",
    "settings.smdebug.profiler": "durations in a configuration file",
    "web.answers.control": "an interval in a request, parsed by the job",
}

FILES = sorted(PACKAGE.rglob("*.py"))

# These run in processes of the user before the package is loaded: they must not import it, and no
# exception may escape from them.
START_UP = PACKAGE / "hook" / "inject" / "sitecustomize.py"
STARTUP_REPORT = PACKAGE / "hook" / "startup_report.py"
INJECTED = PACKAGE / "hook" / "injected.py"

# an example of a user's training script: shipped with the package, but not part of its code
DEMO_SCRIPT = PACKAGE / "demo" / "pytorch_script.py"


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    """Yield every AST node of every file."""
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            yield path, node


def at(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def assert_none(violations: list[str]) -> None:
    """Fail with a list of all violations."""
    assert not violations, f"{len(violations)} violations:\n" + "\n".join(violations)


def package_of(parts: tuple[str, ...]) -> str:
    if parts[0] in BASICS:
        return "basics"
    return "front" if len(parts) == 1 and not (PACKAGE / parts[0]).is_dir() else parts[0]


def imports_of(tree: ast.AST) -> Iterator[str]:
    """Yield all modules imported in a file, including inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "sonde":
            names = (alias.name for alias in node.names)
            yield from (f"sonde.{name}" for name in names if name not in FRONT_NAMES_FOR_ALL)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_packages_import_only_what_they_may() -> None:
    violations = []
    for path in FILES:
        package = package_of(path.relative_to(PACKAGE).with_suffix("").parts)
        for name in imports_of(tree_of(path)):
            top, *submodules = name.split(".")
            if top != "sonde" or not submodules:
                continue
            imported = package_of(tuple(submodules))
            if not {imported, submodules[0]} & {package, *MAY_IMPORT[package]}:
                allowed = ", ".join(sorted(MAY_IMPORT[package])) or "nothing of Sonde"
                violations.append(
                    f"{path.relative_to(ROOT)}: {package} imports {name}; it may import: {allowed}"
                )
    assert_none(violations)


def test_formats_is_pure() -> None:
    imports = set(imports_of(tree_of(PACKAGE / "formats.py")))
    assert imports <= {"math", "collections.abc", "datetime"}  # the pure `analyze` imports it


def test_files_and_functions_are_short() -> None:
    violations = []
    for path in FILES:
        lines = path.read_text().count("\n")
        if lines > MAX_LINES_OF_A_FILE:
            violations.append(f"{path.relative_to(ROOT)} has {lines} lines")
    for path, node in nodes():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            arguments = [*node.args.args, *node.args.posonlyargs, *node.args.kwonlyargs]
            parameters = sum(argument.arg not in ("self", "cls") for argument in arguments)
            if length > MAX_LINES_OF_A_FUNCTION:
                violations.append(f"{at(path, node)} {node.name} has {length} lines")
            if parameters > MAX_PARAMETERS:
                violations.append(f"{at(path, node)} {node.name} has {parameters} parameters")
    assert_none(violations)


def attributes_of(definition: ast.ClassDef) -> set[str]:
    """Return the fields in the body of a class and the attributes that its methods assign."""
    fields = {
        statement.target.id
        for statement in definition.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and "ClassVar" not in ast.unparse(statement.annotation)
    }
    return fields | {
        node.attr
        for node in ast.walk(definition)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def test_classes_have_few_attributes() -> None:
    counts = {
        f"{dotted(path)}.{node.name}": len(attributes_of(node))
        for path, node in nodes()
        if isinstance(node, ast.ClassDef)
    }
    violations = [
        f"{name} has {count} attributes"
        for name, count in counts.items()
        if count > LARGE_CLASSES.get(name, MAX_ATTRIBUTES)
    ]
    violations += [
        f"{name} is in LARGE_CLASSES, but is small or does not exist: remove the entry"
        for name in LARGE_CLASSES
        if counts.get(name, 0) <= MAX_ATTRIBUTES
    ]
    assert_none(violations)


def bound_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    return []


def test_names_say_what_a_value_is() -> None:
    names = [(at(path, node), name) for path, node in nodes() for name in bound_names(node)]
    vague = [
        f"{location} {name}"
        for location, name in names
        if set(name.strip("_").lower().split("_")) <= VAGUE_WORDS
    ]
    percent = 100 * len(vague) / len(names)
    if percent > MAX_VAGUE_PERCENT:
        assert_none([*vague, f"{percent:.2f}% of all names, limit {MAX_VAGUE_PERCENT}%"])


def is_formatted(value: ast.expr) -> bool:
    """Whether a value is the result of a function of `sonde.formats`."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id.startswith("format_")
    )


def numbers_before_units(text: ast.JoinedStr) -> Iterator[str]:
    """Yield the numbers of an f-string that are formatted as a percentage or before a unit."""
    following = [*text.values[1:], ast.Constant("")]
    for value, suffix in zip(text.values, following, strict=True):
        if not isinstance(value, ast.FormattedValue) or is_formatted(value.value):
            continue
        spec = value.format_spec
        ends = ast.unparse(spec).endswith("%'") if spec else False
        end = str(suffix.value) if isinstance(suffix, ast.Constant) else ""
        unit = UNIT.match(end)
        is_plural = unit is not None and spec is None and unit.group(0) == "s"  # {noun}s
        if ends or (unit and not is_plural):
            yield f"{ast.unparse(value)}{end}"


def test_numbers_with_units_are_formatted_by_sonde_formats() -> None:
    violations = {
        f"{at(path, node)}: {number}": dotted(path)
        for path, node in nodes()
        if isinstance(node, ast.JoinedStr)
        for number in numbers_before_units(node)
    }
    assert_none([text for text, module in violations.items() if module not in PLAIN_NUMBERS])
    assert set(PLAIN_NUMBERS) <= set(violations.values()), "PLAIN_NUMBERS has unneeded entries"


@pytest.mark.parametrize(
    ("code", "is_refused"),
    [
        ("f'{share:.2g}% of'", True),
        ("f'{share:.0%}'", True),
        ("f'{share}% of'", True),
        ("f'{wait:.3g} s'", True),
        ("f'{wait:.6f}s'", True),
        ("f'{1e3 * wait:.1f} ms'", True),
        ("f'{size / 1e9:.1f} GB'", True),
        ("f'{timeout:g} seconds'", True),
        ("f'{format_percent(share)} of'", False),
        ("f'{format_count(size)} bytes'", False),
        ("f'{noun}s and {count} samples'", False),
        ("f'{loss:.4g} at {step}'", False),
    ],
)
def test_the_law_of_numbers_with_units_finds_them(code: str, is_refused: bool) -> None:
    [text] = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.JoinedStr)][:1]
    assert bool(list(numbers_before_units(text))) == is_refused


def test_no_module_is_a_catch_all() -> None:
    assert_none(
        [
            str(path.relative_to(ROOT))
            for path in FILES
            if FORBIDDEN_NAMES.intersection(path.relative_to(PACKAGE).with_suffix("").parts)
        ]
    )


def test_every_package_has_a_docstring() -> None:
    packages = sorted({path.parent / "__init__.py" for path in FILES})
    assert_none([str(path) for path in packages if not ast.get_docstring(tree_of(path))])


def test_only_settings_reads_the_environment() -> None:
    assert_none(
        [
            at(path, node)
            for path, node in nodes()
            if isinstance(node, ast.Attribute)
            and node.attr in ("environ", "getenv")
            and path.parent.name != "settings"
            and path not in (START_UP, STARTUP_REPORT)
        ]
    )


def swallows_all_exceptions(node: ast.AST) -> bool:
    """Whether a handler or a call of `suppress` catches all exceptions and does not raise them."""
    if isinstance(node, ast.ExceptHandler):
        caught = [node.type]
        is_raised = ast.unparse(node.body[-1]) == "raise"
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
        caught, is_raised = list(node.args), False
    else:
        return False
    names = {
        ast.unparse(each) if each else ""
        for kind in caught
        for each in (kind.elts if isinstance(kind, ast.Tuple) else [kind])
    }
    return not is_raised and bool(names & {"", "Exception", "BaseException"})


def test_only_the_guard_swallows_all_exceptions() -> None:
    allowed = (PACKAGE / "guard.py", INJECTED, START_UP)
    assert_none(
        [
            at(path, node)
            for path, node in nodes()
            if path not in allowed and swallows_all_exceptions(node)
        ]
    )


@pytest.mark.parametrize(
    ("code", "is_refused"),
    [
        ("try: f()\nexcept: pass", True),
        ("try: f()\nexcept Exception: log()", True),
        ("try: f()\nexcept (OSError, BaseException): pass", True),
        ("with contextlib.suppress(Exception): f()", True),
        ("try: f()\nexcept BaseException:\n    undo()\n    raise", False),
        ("with contextlib.suppress(OSError): f()", False),
    ],
)
def test_the_law_of_swallowed_exceptions_finds_them(code: str, is_refused: bool) -> None:
    assert any(map(swallows_all_exceptions, ast.walk(ast.parse(code)))) == is_refused


def test_only_the_clock_reads_time() -> None:
    assert_none(
        [
            str(path.relative_to(ROOT))
            for path in FILES
            if "time" in imports_of(tree_of(path))
            and path.name != "clock.py"
            and path != DEMO_SCRIPT
        ]
    )


def test_linter_waivers_are_few_and_have_a_reason() -> None:
    waivers = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in FILES
        for line in path.read_text().splitlines()
        if "# noqa" in line or "# type: ignore" in line
    ]
    assert len(waivers) <= MAX_WAIVERS, "\n".join(waivers)
    assert_none([waiver for waiver in waivers if " — " not in waiver])


HEAVY = (
    *("numpy", "pyarrow", "pandas", "polars", "rich", "psutil", "pynvml", "obstore"),
    *("starlette", "uvicorn", "torch", "tensorflow", "jax", "msgspec"),
)


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=170
    )
    return set(result.stdout.split())


def test_importing_sonde_loads_nothing_heavy() -> None:
    assert not modules_after("import sonde") & set(HEAVY)


def test_the_launcher_loads_nothing_heavy() -> None:
    statement = "import sonde.cli.run, sonde.agent.launch, sonde.store.backends.local"
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
