"""Limit repeated log lines of a server that runs for weeks."""

import logging

_SECONDS = 60.0
_MAX_LINES = 100  # in a minute


class OncePerMinute(logging.Filter):
    """Passes each line once a minute, with the number of repetitions since."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is shown."""
        text, now = record.getMessage(), record.created
        self._shown = {line: time for line, time in self._shown.items() if now - time < _SECONDS}
        if len(self._left_out) > 10 * _MAX_LINES:
            self._left_out.clear()
        if text in self._shown or len(self._shown) >= _MAX_LINES:
            self._left_out[text] = self._left_out.get(text, 0) + 1
            return False
        self._shown[text] = now
        if count := self._left_out.pop(text, 0):
            record.msg, record.args = f"{text} (repeated {count:,} times)", ()
        return True
