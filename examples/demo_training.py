"""A small numpy training job with planted faults.

Try: sonde run python examples/demo_training.py
Its source is in the package, so that `sonde demo` works wherever Sonde is installed:
src/sonde/demo/training.py.
"""

from sonde.demo.training import SECONDS, train

train(SECONDS)
