"""Fingers on the screen, as the browser gets them from a real one."""

from playwright.sync_api import Page

Place = tuple[float, float]

_STEPS = 12
_QUICK = 0.1  # seconds
# by the browser's clock, as events carry them: one from before the page was there may crash it
_NOW = "(performance.timeOrigin + performance.now()) / 1000"


class Fingers:
    """Fingers of one hand before a page; each call ends with all of them lifted."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._session = page.context.new_cdp_session(page)

    def tap(self, place: Place, times: int = 1) -> None:
        """Down and up at once; several follow quickly, however slow the machine is."""
        first = float(self._page.evaluate(_NOW))
        for number in range(times):
            self._tell("touchStart", [place], first + number * _QUICK)
            self._tell("touchEnd", [], first + (number + 0.2) * _QUICK)

    def move(self, *ways: tuple[Place, Place]) -> None:
        """A finger per way, from its beginning to its end, all at the same time."""
        begins = [begin for begin, _ in ways]
        for count in range(1, len(ways) + 1):
            self._tell("touchStart", begins[:count])
        for step in range(1, _STEPS + 1):
            self._tell("touchMove", [_between(*way, step / _STEPS) for way in ways])
        for count in reversed(range(len(ways))):
            self._tell("touchEnd", [end for _, end in ways[:count]])

    def _tell(self, kind: str, places: list[Place], at: float | None = None) -> None:
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)]
        told = {"type": kind, "touchPoints": points} | ({} if at is None else {"timestamp": at})
        self._session.send("Input.dispatchTouchEvent", told)


def _between(begin: Place, end: Place, share: float) -> Place:
    return begin[0] + share * (end[0] - begin[0]), begin[1] + share * (end[1] - begin[1])
