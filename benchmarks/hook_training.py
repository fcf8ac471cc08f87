"""A training script that times its own steps: `python -m benchmarks.hook_training MODEL FILE …`."""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.hook_blocks import (
    Plan,
    no_switch,
    run_blocks,
    save_blocks,
    session_is_quiet,
    session_switch,
)
from benchmarks.training_models import MODELS, Training, one_step, prepare


def main() -> None:
    """Train in blocks of steps and save their durations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("file", type=Path)
    parser.add_argument("--pairs", type=int, default=1)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--warm-up", type=int, default=20)
    parser.add_argument("--switch", action="store_true", help="disable Sonde in every other block")
    options = parser.parse_args()
    torch.set_num_threads(1)
    training = prepare(options.model)
    batches = endless(training)

    def step() -> None:
        one_step(training, *next(batches))

    for _ in range(options.warm_up):
        step()
    plan = Plan(options.pairs, options.steps, no_switch)
    if options.switch:
        plan = replace(plan, switch=session_switch(), is_quiet=session_is_quiet())
    save_blocks(run_blocks(step, plan), options.file)


def endless(training: Training) -> Iterator[list[torch.Tensor]]:
    """Yield batches epoch by epoch, forever."""
    while True:
        yield from training.batches


if __name__ == "__main__":
    main()
