"""A job with everything that charts show."""

import pytest

from tests.fakes.reported import Reported, reported_job


@pytest.fixture(scope="package")
def reported() -> Reported:
    """Return a finished job; tests must not change it."""
    return reported_job()
