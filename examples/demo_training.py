"""A small numpy training job with planted faults.

Try: sonde run python examples/demo_training.py
The source is part of the package, for `sonde demo`: src/sonde/demo/training.py.
"""

from sonde.demo.training import SECONDS, train

train(SECONDS)
