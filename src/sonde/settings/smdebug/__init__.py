"""Convert the configuration of SageMaker Debugger, as JSON, into text for `sonde.toml`."""

from sonde.settings.smdebug.convert import convert_configuration

__all__ = ["convert_configuration"]
