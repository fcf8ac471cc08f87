"""Touch input, sent to the browser as a real touch screen would."""

from playwright.sync_api import Page

Point = tuple[float, float]

_STEPS = 12
_QUICK = 0.1  # seconds
# in the browser's clock: an event older than the page can crash the browser
_NOW = "(performance.timeOrigin + performance.now()) / 1000"


class Fingers:
    """Touch gestures on a page; each call ends with all fingers lifted."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._session = page.context.new_cdp_session(page)

    def tap(self, point: Point, times: int = 1) -> None:
        """Tap; several taps follow each other quickly, even on a slow machine."""
        first = float(self._page.evaluate(_NOW))
        for number in range(times):
            self._dispatch("touchStart", [point], first + number * _QUICK)
            self._dispatch("touchEnd", [], first + (number + 0.2) * _QUICK)

    def move(self, *paths: tuple[Point, Point]) -> None:
        """Move one finger along each path, all at the same time."""
        begins = [begin for begin, _ in paths]
        for count in range(1, len(paths) + 1):
            self._dispatch("touchStart", begins[:count])
        for step in range(1, _STEPS + 1):
            self._dispatch("touchMove", [_between(*path, step / _STEPS) for path in paths])
        for count in reversed(range(len(paths))):
            self._dispatch("touchEnd", [end for _, end in paths[:count]])

    def _dispatch(self, kind: str, positions: list[Point], at: float | None = None) -> None:
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(positions)]
        event = {"type": kind, "touchPoints": points} | ({} if at is None else {"timestamp": at})
        self._session.send("Input.dispatchTouchEvent", event)


def _between(begin: Point, end: Point, share: float) -> Point:
    return begin[0] + share * (end[0] - begin[0]), begin[1] + share * (end[1] - begin[1])
