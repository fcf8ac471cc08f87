"""Every text the program can print, collected from the source, one list per screen.

`python -m tests.texts` (or `make texts`) writes the lists to `tests/golden/texts`, where they are
reviewed. The dashboard's own texts are collected by `ui/src/texts.test.ts`.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "sonde"
FOLDER = ROOT / "tests" / "golden" / "texts"

# Which screen shows the texts of a package, or of a module at the top level.
SCREENS = {
    "__init__": "python client",
    "__main__": "command line",
    "actions": "actions",
    "agent": "recording",
    "analyze": "findings and advice",
    "atomic_file": "store",
    "bounded_cache": "store",
    "bounded_calls": "recording",
    "charts": "charts",
    "cli": "command line",
    "client": "python client",
    "clock": "recording",
    "demo": "command line",
    "drawing": "charts",
    "engine": "actions",
    "errors": "errors",
    "exports": "import and export",
    "formats": "charts",
    "guard": "recording",
    "hook": "recording",
    "importers": "import and export",
    "masking": "recording",
    "plugins": "errors",
    "read": "status",
    "records": "status",
    "report": "report",
    "results": "status",
    "rules": "findings and advice",
    "settings": "configuration",
    "side_process": "recording",
    "store": "store",
    "terminal": "status",
    "tfevents": "import and export",
    "traces": "import and export",
    "web": "dashboard server",
}
ERRORS = "errors"
# The docstrings of these packages are shown: as help, on rule pages, and in the reference.
SHOWN_DOCSTRINGS = ("actions", "charts", "cli", "exports", "rules")
TITLES = ("title", "note", "help", "label", "example", "coarsened")

_SENTENCE = re.compile(r"[A-Za-z}][,.:;]? +[A-Za-z{(]")
_NOT_FOR_PEOPLE = re.compile(
    r"^[\s\W\d_]*$|;base64|^[a-z-]+=|\\[dsw]|\(\?"
    r"|^[\w.]+\[.*\]$"  # a type in quotes, such as the first argument of `cast`
)
_TAG = re.compile(r"</?[a-z][^>]*>|<!doctype[^>]*>")
_WORD = re.compile(r"[A-Za-z]{2,}[A-Za-z ,.]*")


def main() -> None:
    """Write the lists."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in pages().items():
        path.write_text(text)


def pages() -> dict[Path, str]:
    """The file of each screen and its content."""
    screens: dict[str, dict[str, list[str]]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = str(path.relative_to(PACKAGE))
        screen = SCREENS[module.removesuffix(".py").split("/")[0]]
        for text, is_error in texts_in(path):
            lists = screens.setdefault(ERRORS if is_error else screen, {})
            texts = lists.setdefault(module, [])
            if text not in texts:
                texts.append(text)
    return {FOLDER / f"{_file_name(name)}.txt": _page(lists) for name, lists in screens.items()}


def texts_in(path: Path) -> Iterator[tuple[str, bool]]:
    """The texts of a file in the order of the source; whether each is the message of an error."""
    shows_docstrings = path.relative_to(PACKAGE).parts[0] in SHOWN_DOCSTRINGS
    yield from texts_of(path.read_text(), shows_docstrings=shows_docstrings)


def texts_of(source: str, *, shows_docstrings: bool = False) -> Iterator[tuple[str, bool]]:
    """The texts in source code, with and without the docstrings of classes."""
    yield from _walk(ast.parse(source), is_error=False, shows_docstrings=shows_docstrings)


def _walk(node: ast.AST, *, is_error: bool, shows_docstrings: bool) -> Iterator[tuple[str, bool]]:
    is_error = is_error or isinstance(node, ast.Raise)
    if isinstance(node, ast.ClassDef) and shows_docstrings:
        docstring = ast.get_docstring(node)
        if docstring:
            yield docstring, False
    text = _text_of(node)
    if text is not None:
        if _is_for_people(text) or _has_words_in_braces(node):
            yield text, is_error
        return
    for name, child in _children(node):
        title = _title_in(node, name, child)
        if title:
            yield title, is_error
        yield from _walk(child, is_error=is_error, shows_docstrings=shows_docstrings)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The nodes directly below, with the names of their fields; without docstrings."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_docstring(child):
                yield name, child


def _text_of(node: ast.AST) -> str | None:
    """A literal as text; expressions of an f-string in braces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    pieces = []
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            pieces.append(_placeholder(value))
        elif isinstance(value, ast.Constant):
            pieces.append(str(value.value))
    return "".join(pieces)


def _placeholder(value: ast.FormattedValue) -> str:
    """An expression in braces with its conversion and format, as in the source."""
    conversion = f"!{chr(value.conversion)}" if value.conversion >= 0 else ""
    spec = f":{_text_of(value.format_spec)}" if value.format_spec else ""
    return f"{{{ast.unparse(value.value)}{conversion}{spec}}}"


def _has_words_in_braces(text: ast.AST) -> bool:
    """Whether an expression of an f-string chooses or counts words: `{'is' if … else 'are'}`."""
    words: list[ast.expr] = []
    for node in ast.walk(text) if isinstance(text, ast.JoinedStr) else ():
        if isinstance(node, ast.IfExp):
            words += [node.body, node.orelse]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "pluralize":
            words += node.args[1:]
    return any(
        isinstance(word, ast.Constant)
        and isinstance(word.value, str)
        and bool(_WORD.fullmatch(word.value.strip()))
        for word in words
    )


def _is_for_people(text: str) -> bool:
    words = _TAG.sub("", re.sub(r"\{[^}]*\}", "{}", text))
    return bool(_SENTENCE.search(words)) and not _NOT_FOR_PEOPLE.search(words)


def _title_in(node: ast.AST, field: str, child: ast.AST) -> str | None:
    """A title of one word: `title = "Losses"` or `title="Losses"`."""
    name = ""
    if isinstance(node, ast.keyword):
        name = node.arg or ""
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
    text = _text_of(child) if field == "value" and name in TITLES else None
    return text if text and not _is_for_people(text) and text.strip() else None


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _page(lists: dict[str, list[str]]) -> str:
    sections = []
    for module, texts in lists.items():
        items = ("  ".join(f"{line}\n" for line in text.splitlines()) for text in texts)
        sections.append(f"# {module}\n" + "".join(f"- {item}" for item in items))
    return "\n".join(sections)


def _file_name(screen: str) -> str:
    return screen.replace(" ", "_")


if __name__ == "__main__":
    main()
