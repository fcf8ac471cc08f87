"""Keep Arrow from importing pandas in processes that do not need it."""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import NoReturn

import pyarrow as pa


class _Hidden(MetaPathFinder):
    """Finds no pandas."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        """Raise ImportError for pandas."""
        return _missing() if fullname == "pandas" else None


def _missing() -> NoReturn:
    raise ModuleNotFoundError("No module named 'pandas'", name="pandas")


def keep_pandas_out() -> None:
    """Let Arrow find no pandas.

    It imports pandas, if installed, to convert the first Python value: most of the CPU time of
    watching a short job. Conversions to pandas, such as in a user's rule, still import it.
    """
    if "pandas" in sys.modules:
        return
    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        pa.scalar("")
    finally:
        sys.meta_path.remove(hidden)
