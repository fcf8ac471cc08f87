"""How long a condition has held, in recorded rows and in steps: not all steps are recorded."""

from sonde.rules._rule import State


class Streaks:
    """For each name, the consecutive recorded steps at which a condition holds."""

    def __init__(self, state: State) -> None:
        self._held = state.of("streaks")

    def __bool__(self) -> bool:
        """Whether the condition holds for any name."""
        return bool(self._held)

    def note(self, name: str, step: int, *, holds: bool) -> None:
        """Add a recorded step at which the condition holds or does not hold."""
        if not holds:
            self._held.pop(name, None)
            return
        rows, since, last = self._held.get(name, (0, step, step))
        # results of a background thread can arrive out of order
        self._held[name] = [rows + 1, min(since, step), max(last, step)]

    def rows(self, name: str) -> int:
        """Return the number of consecutive recorded steps at which the condition holds."""
        return int(self._held[name][0]) if name in self._held else 0

    def steps(self, name: str) -> tuple[int, int]:
        """Return the first and the last step of the streak."""
        _, since, last = self._held[name]
        return int(since), int(last)

    def lasting(self, rows: int, span: int = 0) -> list[str]:
        """Return the names whose streaks have at least `rows` rows and span `span` steps."""
        return sorted(
            name
            for name, (count, since, last) in self._held.items()
            if count >= rows and last - since >= span
        )
