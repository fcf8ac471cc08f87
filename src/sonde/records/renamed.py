"""Fields of stored records that had another name in earlier versions."""

from dataclasses import field
from typing import Any

EARLIER_NAME = "earlier name"  # a key of a field's metadata


def renamed(earlier_name: str, **options: Any) -> Any:
    """Declare a field that is also read under its earlier name; options as for `field`."""
    return field(metadata={EARLIER_NAME: earlier_name}, **options)
