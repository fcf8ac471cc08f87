"""Write sections of a TOML file with comments."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from textwrap import wrap

_WIDTH = 100


@dataclass(slots=True)
class Section:
    """A table of the file, and comments on what has no counterpart."""

    header: str  # such as [system]; empty for comments at the start of the file
    values: dict[str, object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """The lines of the section."""
        if self.header and (self.values or self.header.startswith("[[")):
            yield self.header
        for note in self.notes:
            yield from wrap(
                note,
                _WIDTH,
                initial_indent="# ",
                subsequent_indent="#   ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        for name, value in self.values.items():
            yield f"{name} = {_value(value)}"


def write_sections(sections: Iterable[Section]) -> str:
    """Return the text of a file; sections without content are omitted."""
    blocks = ("\n".join(section.lines()) for section in sections)
    return "\n\n".join(filter(None, blocks)) + "\n"


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name} = {_value(item)}' for name, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    # strings of JSON are strings of TOML, except for this character
    return json.dumps(value).replace("\x7f", "\\u007f")
