"""Train the model of the size of GPT-2 in blocks: `python -m benchmarks.gpt2_training FILE …`.

Requires only the standard library and torch.
"""

import argparse
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import torch

from benchmarks.gpt2 import SMALL, Shape, Training
from benchmarks.gpt2_references import REFERENCES, Measure
from benchmarks.hook_blocks import (
    Plan,
    Step,
    Switch,
    Watch,
    no_switch,
    run_blocks,
    save_blocks,
    session_switch,
)


class DeviceWatch(Watch):
    """Times steps on the GPU with CUDA events."""

    def __init__(self) -> None:
        super().__init__()
        self._events: list[torch.Event] = []

    def mark(self) -> None:
        """Record an event between two steps."""
        event = torch.Event("cuda", enable_timing=True)
        event.record()
        self._events.append(event)

    def finish(self) -> None:
        """Wait for the GPU."""
        torch.cuda.synchronize()

    def take(self) -> tuple[float, ...]:
        """Return the seconds between the events and clear them."""
        events, self._events = self._events, []
        return tuple(before.elapsed_time(after) / 1000 for before, after in pairwise(events))


def main() -> None:
    """Train and save the durations of the blocks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--batch", type=int, default=Shape.batch)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument(
        "--warm-up", type=int, default=14
    )  # until the default profiler windows are over
    parser.add_argument("--compile", choices=("default", "reduce-overhead"))
    parser.add_argument("--switch", action="store_true", help="disable Sonde in every other block")
    parser.add_argument("--reference", choices=REFERENCES)
    options = parser.parse_args()
    is_gpu = torch.cuda.is_available()
    shape = replace(Shape(), batch=options.batch) if is_gpu else SMALL
    training = Training(shape, "cuda" if is_gpu else "cpu", compiled=options.compile)
    step: Step = training.step
    switch: Switch = no_switch
    if options.reference:
        step, switch = _with_reference(training, REFERENCES[options.reference])
    for _ in range(options.warm_up):
        training.step()
    if options.switch:
        switch = session_switch()
    watch = DeviceWatch() if is_gpu else Watch()
    plan = Plan(options.pairs, options.steps, switch, watch)
    save_blocks(run_blocks(step, plan), options.file)


def _with_reference(training: Training, measure: Measure) -> tuple[Step, Switch]:
    """Return a step with the reference measurement, and a switch for it."""
    is_measured = [False]

    def step() -> None:
        training.backward()
        if is_measured[0]:
            measure(training.tensors())
        training.optimizer.step()

    def switch(is_on: bool) -> None:
        is_measured[0] = is_on

    return step, switch


if __name__ == "__main__":
    main()
