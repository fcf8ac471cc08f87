"""Lightning under its other name, which holds a copy of everything."""

from sonde.hook.frameworks.lightning import Lightning


class PyTorchLightning(Lightning):
    """The same for the other package."""

    package = "pytorch_lightning"
    home = "pytorch_lightning"
