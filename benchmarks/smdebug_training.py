"""The same training with the hook of smdebug: `python -m benchmarks.smdebug_training …`.

Runs with the Python of `smdebug_environment`, without Sonde. Alternates between two equal models,
one of which has the hook.
"""

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from benchmarks.hook_blocks import Plan, run_blocks, save_blocks
from benchmarks.hook_training import endless
from benchmarks.training_models import MODELS, one_step, prepare

_TENSORS = ["losses", "weights", "biases", "gradients"]
_WARM_UP = 10


def main() -> None:
    """Train both models; save durations to the file and the hook's output to the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("what", choices=("losses", "statistics", "values"))
    parser.add_argument("--pairs", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--every", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    bare, hooked = prepare(options.model), prepare(options.model)
    hook = _hook(options.what, str(options.folder), options.every)
    hook.register_module(hooked.model)
    hook.register_loss(hooked.loss)
    batches = endless(bare)
    active = [bare]

    def step() -> None:
        one_step(active[0], *next(batches))

    def switch(is_on: bool) -> None:
        active[0] = hooked if is_on else bare

    for _ in range(_WARM_UP):
        step()
    save_blocks(run_blocks(step, Plan(options.pairs, options.steps, switch)), options.file)
    hook.close()


def _hook(what: str, folder: str, every: int) -> Any:
    smdebug = import_module("smdebug.pytorch")  # available only in its environment
    reductions = smdebug.ReductionConfig(
        reductions=["min", "max", "mean", "std"], norms=["l1", "l2"]
    )
    return smdebug.Hook(
        out_dir=folder,
        save_config=smdebug.SaveConfig(save_interval=every),
        include_collections=["losses"] if what == "losses" else _TENSORS,
        reduction_config=reductions if what == "statistics" else None,
    )


if __name__ == "__main__":
    main()
