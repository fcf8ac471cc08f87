"""Lines that the script writes to stdout and stderr, with their time and step.

Only `write` of the two stream objects is wrapped. Descriptors, buffering and terminals stay as they
are, and the text is passed on before it is noted. Output of native code and of other programs does
not pass these objects and is not recorded here.
"""

import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from sonde.hook.hidden_frames import drop_frame
from sonde.records.log_line import OMITTED
from sonde.store.format import LOGS

if TYPE_CHECKING:
    from sonde.hook.session import Session

OUTPUT = "output lines"
_STREAMS = ("stdout", "stderr")
_HEAD_CHARACTERS = 1 << 20  # recorded in any case
_FLUSH_CHARACTERS = 8 << 10  # of each later flush: the last lines of about two seconds
_MAX_WAITING_CHARACTERS = 4 << 20
_MAX_TEXT = 64 << 10  # of one write
_MAX_BEGINNINGS = 1_000
_MAX_LINE = 2_000
_CONTROL_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


class _Lines(NamedTuple):
    """Lines that were finished by one call of `write`."""

    time_ns: int
    step: int
    mode: str
    stream: str
    text: str


class OutputLines:
    """Notes what is written, and records it as lines with every flush."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._note = session.guard.shield(OUTPUT, self._note_unguarded, None)
        self._wrapped: list[tuple[TextIO, Callable[..., Any]]] = []
        self._head_left = _HEAD_CHARACTERS
        self._is_over = False
        self._finished: deque[_Lines] = deque()
        # the beginning of the current line; of a progress bar, the last updates
        self._beginnings: dict[str, deque[str]] = {
            name: deque(maxlen=_MAX_BEGINNINGS) for name in _STREAMS
        }
        self._clear()
        os.register_at_fork(after_in_child=self._clear)
        session.listeners.on_begin(self.install)
        session.listeners.before_flush(session.guard.shield(OUTPUT, self._record, None))
        session.listeners.on_end(self._end)

    def install(self) -> None:
        """Wrap the current streams, unless they are wrapped already."""
        self._is_over = False
        for name in _STREAMS:
            stream = getattr(sys, name)
            if stream is None or any(stream is wrapped for wrapped, _ in self._wrapped):
                continue
            try:
                write = self._wrapper_of(stream.write, name)
                stream.write = write
            except (AttributeError, TypeError):  # an object of the script without attributes
                continue
            self._wrapped.append((stream, write))

    def _end(self) -> None:
        """Restore the streams; the last flush follows, which also records unfinished lines."""
        for stream, write in self._wrapped:
            if vars(stream).get("write") is write:
                del stream.write
        self._wrapped.clear()
        self._is_over = True

    def _clear(self) -> None:
        """Drop what was noted: in a forked child, it belongs to the parent."""
        self._finished.clear()
        self._waiting = 0  # characters
        self._omitted = 0  # lines
        for beginning in self._beginnings.values():
            beginning.clear()

    def _wrapper_of(self, original: Callable[..., Any], stream: str) -> Callable[..., Any]:
        note, append = self._note, self._beginnings[stream].append

        def write(*args: Any, **kwargs: Any) -> Any:
            try:
                result = original(*args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            text = args[0] if args else None
            if type(text) is not str:
                return result
            if "\n" in text:
                note(stream, text)
            else:  # `print` writes each value alone: time and step are those of the end of the line
                append(text[-_MAX_LINE:])
            return result

        return write

    def _note_unguarded(self, stream: str, text: str) -> None:
        beginning = self._beginnings[stream]
        if beginning:
            text = "".join(beginning) + text
            beginning.clear()
        text, _, rest = text[-_MAX_TEXT:].rpartition("\n")
        if rest:
            beginning.append(rest)
        mode, step = self._session.steps.latest
        self._finished.append(_Lines(self._session.clock.now_ns(), step, mode, stream, text))
        self._waiting += len(text)
        while self._waiting > _MAX_WAITING_CHARACTERS and self._finished:
            dropped = self._finished.popleft().text
            self._waiting -= len(dropped)
            self._omitted += dropped.count("\n") + 1

    def _record(self) -> None:
        """Record the finished lines; of many, only the last ones."""
        lines = list(self._take_lines())
        budget = max(self._head_left, _FLUSH_CHARACTERS)
        first = len(lines)
        while first and budget >= len(lines[first - 1].text):
            first -= 1
            budget -= len(lines[first].text)
        shown, omitted = lines[first:], self._omitted + first
        self._head_left = max(0, self._head_left - sum(len(line.text) + 1 for line in shown))
        if omitted and shown:
            self._omitted = 0
            shown.insert(0, shown[0]._replace(stream=OMITTED, text=str(omitted)))
        self._session.recorder.rows.of(LOGS).extend(shown)

    def _take_lines(self) -> Iterator[_Lines]:
        """Single lines; at the end, also unfinished ones."""
        for _ in range(len(self._finished)):
            lines = self._finished.popleft()
            self._waiting -= len(lines.text)
            for line in lines.text.split("\n"):
                yield lines._replace(text=_visible(line))
        for stream, beginning in self._beginnings.items() if self._is_over else ():
            if beginning:
                mode, step = self._session.steps.latest
                text = _visible("".join(beginning))
                yield _Lines(self._session.clock.now_ns(), step, mode, stream, text)
                beginning.clear()


def _visible(line: str) -> str:
    """A line as a terminal shows it: of a progress bar, only the last state."""
    shown = line.rstrip("\r").rpartition("\r")[2]
    return _CONTROL_SEQUENCE.sub("", shown)[:_MAX_LINE]
