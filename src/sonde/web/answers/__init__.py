"""HTTP API endpoints: one file per subject, found through the plug-in slot."""

from sonde.plugins import Slot
from sonde.web.answers._answers import Endpoint, EndpointGroup

__all__ = ["ENDPOINTS", "Endpoint", "EndpointGroup"]

ENDPOINTS = Slot("sonde.web.answers", EndpointGroup)
