"""The names of reductions in Sonde."""

_NORMS = {"l1": "l1_norm", "l2": "l2_norm"}
# of absolute values: what they are called without the prefix
_ABSOLUTE = {"sum": "l1_norm", "l1": "l1_norm", "l2": "l2_norm"}


def sonde_reduction(name: str, is_absolute: bool) -> str:
    """The name of a reduction in Sonde."""
    if is_absolute:
        return _ABSOLUTE.get(name, f"abs_{name}")
    return _NORMS.get(name, name)
