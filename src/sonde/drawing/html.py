"""HTML elements whose texts are always escaped; only `Raw` is written unchanged."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from sonde.drawing.printable import escape_text

_VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})


@dataclass(frozen=True)
class Raw:
    """Trusted content that is not escaped: a style sheet, a script."""

    text: str


@dataclass(frozen=True)
class Element:
    """A tag with its attributes and children."""

    tag: str
    attributes: tuple[tuple[str, str], ...] = ()
    children: "tuple[Node, ...]" = ()

    def __str__(self) -> str:
        return "".join(_render(self))


Node = Element | Raw | str


def element(tag: str, *children: Node | None, **attributes: str | float | bool | None) -> Element:
    """Create an element; `class_` becomes `class`, `data_chart` becomes `data-chart`.

    Children and attributes that are None, and attributes that are False, are dropped.
    """
    pairs = tuple(
        (_name(name), "" if value is True else _number(value))
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    return Element(tag, pairs, tuple(child for child in children if child is not None))


def data_block(name: str, document: Any) -> Element:
    """A JSON document for the script, escaped so that it cannot end the block."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return element("script", Raw(text), type="application/json", data_spec=name)


def prose(text: str) -> list[Node]:
    """Split a text into nodes; text between backticks becomes code."""
    chunks = text.split("`")
    if len(chunks) % 2 == 0:  # unbalanced backticks
        return [text]
    return [element("code", chunk) if index % 2 else chunk for index, chunk in enumerate(chunks)]


def escape_controls(text: str) -> str:
    """A text with escaped control characters and unchanged line breaks."""
    return "\n".join(escape_text(line) for line in text.split("\n"))


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _number(value: str | float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _render(node: Node) -> Iterator[str]:
    if isinstance(node, Raw):
        yield node.text
        return
    if isinstance(node, str):
        yield escape(escape_controls(node), quote=False)
        return
    attributes = "".join(
        f' {name}="{escape(escape_controls(value))}"' for name, value in node.attributes
    )
    yield f"<{node.tag}{attributes}>"
    if node.tag not in _VOID:
        for child in node.children:
            yield from _render(child)
        yield f"</{node.tag}>"
