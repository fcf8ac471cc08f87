"""Fixtures of tests with popular libraries."""

from tests.journeys.conftest import sonde

__all__ = ["sonde"]
