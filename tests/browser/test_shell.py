"""The frame around all pages."""

from collections.abc import Callable
from pathlib import Path

from tests.browser.conftest import Open
from tests.browser.served import Served


def test_a_store_without_jobs_says_how_to_begin(
    open_page: Open, served: Callable[[str], Served], tmp_path: Path
) -> None:
    page = open_page(served(str(tmp_path)).address)
    page.get_by_text("sonde run").first.wait_for()
    assert page.title().startswith("Sonde")
