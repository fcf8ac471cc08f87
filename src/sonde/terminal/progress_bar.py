"""A progress bar on a terminal; nothing in a pipe."""

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import Progress


@contextlib.contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances the bar by a count."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _count: None
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(title, total=total)
        yield lambda count: progress.advance(task, count)
