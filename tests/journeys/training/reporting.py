"""Print losses with all bits and digests of the final state, to compare runs of a script."""

import hashlib
import random

import numpy as np
import torch


def seed_all(seed: int = 7) -> None:
    """Seed all random number generators and use a single thread."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


def print_value(name: str, value: object) -> None:
    """Print a number or a scalar tensor with all bits."""
    number = value.item() if isinstance(value, torch.Tensor) else value
    print(name, float(number).hex(), flush=True)


def print_final_state(*trained: object) -> None:
    """Print digests of models and optimizers, random number generators, and global settings."""
    for entry in trained:
        print(type(entry).__name__, digest(entry.state_dict()))
    print("torch random", digest(torch.get_rng_state()))
    print("numpy random", digest(repr(np.random.get_state())))
    print("python random", digest(repr(random.getstate())))
    settings = (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.is_anomaly_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.get_num_threads(),
    )
    print("settings", *settings, flush=True)


def digest(state: object) -> str:
    """Return a digest that is equal only for bitwise equal values."""
    result = hashlib.sha256()
    _add(result, state)
    return result.hexdigest()


def _add(result: "hashlib._Hash", state: object) -> None:
    if isinstance(state, torch.Tensor):
        plain = state.detach().cpu().contiguous()
        result.update(f"{plain.dtype}{tuple(plain.shape)}".encode())
        result.update(plain.reshape(-1).view(torch.uint8).numpy().tobytes())
    elif isinstance(state, dict):
        for key, value in state.items():
            result.update(repr(key).encode())
            _add(result, value)
    elif isinstance(state, list | tuple):
        for value in state:
            _add(result, value)
    else:
        result.update(repr(state).encode())
