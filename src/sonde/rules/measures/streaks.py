"""How long something has held: recorded steps are few and far between, so rows are no steps."""

from sonde.rules._rule import State


class Streaks:
    """For each name, the consecutive recorded steps at which a condition holds."""

    def __init__(self, state: State) -> None:
        self._held = state.of("streaks")

    def __bool__(self) -> bool:
        """Whether it holds of any name."""
        return bool(self._held)

    def note(self, name: str, step: int, *, holds: bool) -> None:
        """Whether it holds at one more recorded step."""
        if not holds:
            self._held.pop(name, None)
            return
        rows, since, last = self._held.get(name, (0, step, step))
        # what a thread beside the training finds may come a little out of order
        self._held[name] = [rows + 1, min(since, step), max(last, step)]

    def rows(self, name: str) -> int:
        """At how many recorded steps in a row it holds by now."""
        return int(self._held[name][0]) if name in self._held else 0

    def steps(self, name: str) -> tuple[int, int]:
        """The first and the last of them."""
        _, since, last = self._held[name]
        return int(since), int(last)

    def lasting(self, rows: int, span: int = 0) -> list[str]:
        """Names for which it holds at N recorded steps in a row that span a number of steps."""
        return sorted(
            name
            for name, (count, since, last) in self._held.items()
            if count >= rows and last - since >= span
        )
