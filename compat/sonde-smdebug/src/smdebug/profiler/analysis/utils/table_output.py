"""Show a table where the script or notebook prints."""

import sys
from typing import TypeVar

Table = TypeVar("Table")


def show(table: Table) -> Table:
    """Print a table, and return it."""
    sys.stdout.write(f"{table}\n")
    return table
