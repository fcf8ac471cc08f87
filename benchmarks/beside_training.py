"""A training script of a given length: `python -m benchmarks.beside_training MODEL SECONDS`."""

import argparse
import time

import torch

from benchmarks.hook_training import endless
from benchmarks.training_models import MODELS, one_step, prepare

_REST_SECONDS = 0.02  # per step, so that the machine is never full


def main() -> None:
    """Train until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("seconds", type=float)
    options = parser.parse_args()
    torch.set_num_threads(1)
    training = prepare(options.model)
    batches = endless(training)
    one_step(training, *next(batches))  # on a busy machine, the first step takes seconds
    until = time.monotonic() + options.seconds
    while time.monotonic() < until:
        one_step(training, *next(batches))
        time.sleep(_REST_SECONDS)


if __name__ == "__main__":
    main()
