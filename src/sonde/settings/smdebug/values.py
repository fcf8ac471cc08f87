"""Read values that SageMaker writes as text: numbers, booleans, lists and nested documents."""

import ast
import json
from collections.abc import Mapping
from typing import Any

from sonde.errors import UsageError


def items_of(value: object) -> list[str]:
    """The items of a list or of a comma-separated text."""
    items = value if isinstance(value, list | tuple) else str(value).split(",")
    return [text for text in (str(item).strip() for item in items) if text]


def is_true(value: object) -> bool:
    """Whether a boolean or its text is true."""
    return str(value).strip().lower() in ("true", "1", "yes")


def whole_number(value: object, where: str) -> int:
    """An integer from a number or its text."""
    try:
        return int(str(value).strip())
    except ValueError as error:
        raise UsageError(f"{where} = {value!r} must be an integer.") from error


def document_of(value: object, where: str) -> dict[str, Any]:
    """A nested document, which may be written as text."""
    if isinstance(value, str):
        value = literal(value, where)
    if not isinstance(value, Mapping):
        raise UsageError(f"{where} = {value!r} must be a JSON object.")
    return dict(value)


def literal(text: str, where: str) -> Any:
    """A value written as text in JSON, with escaped quotes, or as a Python literal."""
    for candidate in (text, text.replace('\\"', '"')):
        for parse in (json.loads, ast.literal_eval):
            try:
                return parse(candidate)
            except (ValueError, SyntaxError):
                continue
    raise UsageError(f"{where} = {text!r} is not valid JSON.")


def without_case(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document with keys in lower case and without underscores: the service ignored case."""
    return {name.lower().replace("_", ""): value for name, value in document.items()}
