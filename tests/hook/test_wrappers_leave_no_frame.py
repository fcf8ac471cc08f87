"""Every wrapper removes its frame from exceptions of the wrapped function."""

import ast
from collections.abc import Iterator
from pathlib import Path

import sonde

HOOK = Path(sonde.__file__).parent / "hook"
# the names of wrapped functions in wrappers
WRAPPED = {"original", "closure", "compiled", "execute", "bootstrap", "call", "function"}
# files whose functions call others without letting their exceptions through
SHIELDS = {"guard.py", "hidden_operations.py", "bounded_calls.py"}


def uncovered_calls(function: ast.FunctionDef, names: set[str]) -> Iterator[ast.Call]:
    """Yield calls of a wrapped function outside of `try` blocks that drop the frame."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Try) and "drop_frame" in "".join(map(ast.unparse, node.handlers)):
            waiting += [*node.handlers, *node.orelse, *node.finalbody]
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node
        waiting += ast.iter_child_nodes(node)


def wrappers(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, set[str]]]:
    """Yield nested functions with the names of the wrapped functions that they can call."""
    for outer in ast.walk(tree):
        if isinstance(outer, ast.FunctionDef):
            wrapped = {argument.arg for argument in outer.args.args if argument.arg in WRAPPED}
            for inner in ast.walk(outer):
                if inner is not outer and isinstance(inner, ast.FunctionDef) and wrapped:
                    yield inner, wrapped


def uncovered(path: Path) -> list[str]:
    tree = ast.parse(path.read_text())
    return [
        f"{path.relative_to(HOOK)}:{call.lineno} in {function.name}"
        for function, names in wrappers(tree)
        for call in uncovered_calls(function, names)
    ]


def test_every_wrapper_drops_its_frame_from_tracebacks() -> None:
    files = [path for path in HOOK.rglob("*.py") if path.name not in SHIELDS]
    assert [location for path in files for location in uncovered(path)] == []
