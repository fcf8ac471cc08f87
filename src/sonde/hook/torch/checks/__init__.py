"""State checks: one file per check, named after what it checks. The folder is the registry."""

from pkgutil import iter_modules

from sonde.hook.torch.checks._state_check import CheckContext as CheckContext
from sonde.hook.torch.checks._state_check import StateCheck as StateCheck
from sonde.plugins import Slot

CHECKS: Slot[StateCheck] = Slot("sonde.hook.torch.checks", StateCheck)


def check_classes() -> list[type[StateCheck]]:
    """Import all state checks, in the order in which they run.

    Entry points of other packages are not read: that takes 15 ms in every training process.
    """
    modules = [module for module in iter_modules(__path__) if not module.ispkg]
    names = [module.name for module in modules if not module.name.startswith("_")]
    return sorted(map(CHECKS.load, names), key=lambda check: (check.order, check.name))
