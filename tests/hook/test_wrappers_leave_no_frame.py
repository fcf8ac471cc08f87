"""Every wrapper removes its frame from exceptions of the wrapped function."""

import ast
from collections.abc import Iterator
from pathlib import Path

import sonde

HOOK = Path(sonde.__file__).parent / "hook"
# what wrappers call the function that they stand for
WRAPPED = {"original", "closure", "compiled", "execute", "bootstrap", "call", "function"}
# functions of ours that call others in turn, and raise nothing of theirs
SHIELDS = {"guard.py", "hidden_operations.py", "bounded_calls.py"}


def calls_of_others(function: ast.FunctionDef, names: set[str]) -> Iterator[ast.Call]:
    """Calls of a wrapped function that no handler with `drop_frame` is around."""
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
    """Functions inside of others, with the names of wrapped functions that they see."""
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
        for call in calls_of_others(function, names)
    ]


def test_every_wrapper_drops_its_frame_from_tracebacks() -> None:
    files = [path for path in HOOK.rglob("*.py") if path.name not in SHIELDS]
    assert [location for path in files for location in uncovered(path)] == []
