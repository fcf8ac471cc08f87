"""A small numpy training job with planted faults.

Try: sonde run python examples/demo_training.py
Its source is in the package, so that `sonde demo` works wherever Sonde is installed:
src/sonde/show/demo_training.py.
"""

from sonde.show.demo_training import SECONDS, train

train(SECONDS)
