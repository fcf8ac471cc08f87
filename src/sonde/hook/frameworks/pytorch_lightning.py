"""Lightning as the separate package `pytorch_lightning`."""

from sonde.hook.frameworks.lightning import Lightning


class PyTorchLightning(Lightning):
    """The Lightning adapter for `pytorch_lightning`."""

    package = "pytorch_lightning"
    awaits = ("pytorch_lightning",)
    home = "pytorch_lightning"
