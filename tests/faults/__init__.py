"""Training programs with planted faults, healthy programs, and how well rules separate them.

`<rule>/<name>.py` is a program whose fault that rule should report; run as `healthy` instead of
`faulty`, the same file trains its healthy twin. `healthy/<name>.py` holds hard negatives: programs
that look unusual but have no fault. Each starts with its label, a literal (see `label.py`).
"""
