"""Training programs with planted faults, healthy programs, and how well the rules tell them apart.

`<rule>/<name>.py` holds a program whose fault that rule should report; run as `healthy` instead of
`faulty`, the same file trains its healthy twin. `healthy/<name>.py` holds hard negatives: programs
that look unusual and have nothing wrong. Each starts with its label, a literal (see `label.py`).
"""
