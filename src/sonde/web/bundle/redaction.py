"""Replace host names, command lines and folders in everything that a bundle contains."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from sonde.read.jobs import JobFacts, NodeAttempt
from sonde.web.frames import MEDIA_TYPE, split_frame, whole_frame
from sonde.web.replies import Reply

_REDACTED = "(redacted)"
_HOME = re.compile(r"(?:/home|/Users)/[^/\s\"':;,]+")
_KEYS = frozenset(("command", "folder"))
_MIN_LENGTH = 3  # shorter host names are replaced as whole texts only, not inside sentences


class Redaction:
    """Replaces known texts; without any, it leaves everything as it is."""

    def __init__(self, replacements: Mapping[str, str] | None = None) -> None:
        self._replacements = dict(replacements or {})
        inside = sorted(
            (text for text in self._replacements if len(text) >= _MIN_LENGTH), key=len, reverse=True
        )
        alternatives = "|".join(map(re.escape, inside))
        self._pattern = re.compile(rf"(?<![\w-])(?:{alternatives})(?![\w-])") if inside else None

    def text(self, text: str) -> str:
        """The text without host names, command lines and folders."""
        if not self._replacements:
            return text
        if text in self._replacements:
            return self._replacements[text]
        if self._pattern is not None:
            text = self._pattern.sub(lambda match: self._replacements[match[0]], text)
        return _HOME.sub("~", text)

    def reply(self, reply: Reply) -> bytes:
        """The body of a reply, with all texts in it replaced."""
        if not self._replacements:
            return reply.body
        if reply.media_type == MEDIA_TYPE:
            header, columns = split_frame(reply.body)
            return whole_frame(self._value(header), columns)
        return json.dumps(self._value(json.loads(reply.body)), ensure_ascii=False).encode()

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._value(each) for each in value]
        if isinstance(value, dict):
            return {self.text(key): self._field(key, each) for key, each in value.items()}
        return value

    def _field(self, key: str, value: Any) -> Any:
        if key in _KEYS and value:
            return [_REDACTED] if isinstance(value, list) else _REDACTED
        return self._value(value)


def redaction_of(facts: JobFacts) -> Redaction:
    """Hosts become `host-1`, `host-2` and so on; command lines and folders `(redacted)`."""
    replacements: dict[str, str] = {}
    aliases = {node: f"host-{number}" for number, node in enumerate(facts.nodes, 1)}
    for attempt in facts.attempts:
        replacements |= dict.fromkeys(_private_texts(attempt), _REDACTED)
        host = (attempt.surroundings.machine if attempt.surroundings else {}).get("host")
        if host:
            replacements[host] = aliases[attempt.attempt.node]
    return Redaction({**replacements, **aliases})


def _private_texts(node: NodeAttempt) -> Iterator[str]:
    """The command line, the paths in it, and the folder it was started in."""
    command = node.attempt.command
    yield shlex.join(command)
    yield " ".join(command)
    yield from (word for word in command if "/" in word)
    if len(node.attempt.folder) > 1:
        yield node.attempt.folder
