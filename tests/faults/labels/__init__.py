"""Labels of all programs that rule authors have seen.

`set_1` to `set_6` were each held out and judged once, in that order; thresholds may be set on them
since. `short_runs` was written to set thresholds on. A set that was never looked at is in
`tests/faults/held_out.py`; once it has been judged, it moves here as the next number.
"""
