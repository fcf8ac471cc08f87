"""Warn, fail and recurse below every function that Sonde may wrap, and print the effects."""

import importlib
import io
import json
import logging
import multiprocessing
import re
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

ROUNDS = 3
LEVELS = 12  # of recursion
shown = []
frames = {}
mode = {"warn": 0, "fail": False}
log = logging.getLogger("script")
log.propagate = False


def act():
    """Warn at several stack levels or fail; called below a wrapped function."""
    if mode["fail"]:
        raise ValueError("planted")
    for level in range(1, 1 + mode["warn"]):
        warnings.warn(f"planted {level}", stacklevel=level)


class Samples(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        act()
        return torch.ones(2)


def collate(samples):
    act()
    return torch.stack(samples)


class Acting(torch.autograd.Function):
    @staticmethod
    def forward(_context, x):
        return x.clone()

    @staticmethod
    def backward(_context, gradient):
        act()
        return gradient


class Printed:
    def __str__(self):
        act()
        return "printed"

    def __reduce__(self):
        act()
        return (str, ("saved",))


class Handler(logging.Handler):
    def emit(self, record):
        act()


class Made(torch.nn.Module):
    def __setattr__(self, name, value):
        if name == "_is_full_backward_hook":  # set inside of Module.__init__
            act()
        super().__setattr__(name, value)


class Updating(torch.optim.SGD):
    def step(self, closure=None):
        act()
        return super().step(closure)


class Cleared(torch.optim.SGD):
    def zero_grad(self, set_to_none=True):
        super().zero_grad(set_to_none)
        act()


def closure():
    act()
    return model(torch.ones(1, 2)).sum()


def loaded_state(_module, _state, _prefix, _metadata, *_rest):
    act()


log.addHandler(Handler())
model = torch.nn.Linear(2, 2)
model.register_load_state_dict_pre_hook(loaded_state)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
updating = Updating(model.parameters(), lr=0.1)
state = model.state_dict()
clipped = [torch.nn.Parameter(torch.ones(2))]
clipped[0].register_hook(lambda _gradient: act())


def backward():
    Acting.apply(model(torch.ones(1, 2))).sum().backward()


def gradient():
    x = torch.ones(2, requires_grad=True)
    torch.autograd.grad(Acting.apply(x).sum(), x)


def hooked():
    (clipped[0] * 2).sum().backward()


def summed(x, **_options):
    act()
    return x.sum()


WAYS = {
    "items": lambda: list(DataLoader(Samples(), batch_size=2)),
    "collation": lambda: list(DataLoader([torch.ones(2)], collate_fn=collate)),
    "backward": backward,
    "autograd.grad": gradient,
    "tensor hook": hooked,
    "print": lambda: print(Printed(), file=io.StringIO()),
    "closed file": lambda: print("x", file=closed_if_failing()),
    "logging": lambda: log.warning("x"),
    "torch.save": lambda: torch.save(Printed(), io.BytesIO()),
    "made": Made,
    "closure": lambda: optimizer.step(closure),
    "optimizer": updating.step,
    "load_state_dict": lambda: model.load_state_dict(state),
    "loss": lambda: torch.nn.functional.cross_entropy(torch.ones(2, 2), wrong_if_failing()),
    "exit": lambda: mode["fail"] and sys.exit(3),
}


def closed_if_failing():
    file = io.StringIO()
    if mode["fail"]:
        file.close()
    return file


def wrong_if_failing():
    return torch.ones(3, dtype=torch.long) if mode["fail"] else torch.ones(2, dtype=torch.long)


def show_warnings(name, way):
    mode.update(warn=9, fail=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        way()
    mode["warn"] = 0
    shown.extend(f"{name}: {entry.message} {entry.filename}:{entry.lineno}" for entry in caught)


def show_failure(name, way):
    mode["fail"] = True
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    try:
        way()
    except (ValueError, TypeError, RuntimeError, SystemExit):
        mode["fail"] = False
        shown.append(f"{name}: {traceback.format_exc()}")
        second = logging.getLogger("other")
        second.addHandler(handler)
        second.propagate = False
        second.exception("logged")
        second.removeHandler(handler)
        shown.append(stream.getvalue())
    mode["fail"] = False


def depth():
    frame, count = sys._getframe(1), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count


def in_prints(level):
    class Nested:
        def __str__(self):
            in_prints(level - 1)
            return ""

    if level:
        print(Nested(), file=io.StringIO())
    else:
        frames["print"] = depth()


def in_loaders(level):
    class Nested(Dataset):
        def __len__(self):
            return 1

        def __getitem__(self, index):
            in_loaders(level - 1)
            return 0

    if level:
        list(DataLoader(Nested()))
    else:
        frames["loader"] = depth()


def in_backwards(level):
    x = torch.ones(1, requires_grad=True)
    x.register_hook(lambda _gradient: in_backwards(level - 1))
    if level:
        with torch.enable_grad():
            (x * 2).sum().backward()
    else:
        frames["backward"] = depth()


def in_saves(level):
    class Nested:
        def __reduce__(self):
            in_saves(level - 1)
            return (str, ())

    if level:
        torch.save(Nested(), io.BytesIO())
    else:
        frames["torch.save"] = depth()


def show_import():
    with tempfile.TemporaryDirectory() as folder:
        text = "import warnings\nfor k in (1, 2, 3):\n    warnings.warn('imported', stacklevel=k)\n"
        Path(folder, "jax.py").write_text(text)
        sys.path.insert(0, folder)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            importlib.import_module("jax")
        shown.extend(f"{Path(entry.filename).name}:{entry.lineno}" for entry in caught)


def child():
    mode["warn"] = 3
    warnings.simplefilter("always")
    warnings.showwarning = lambda _m, _c, file, line, *_o: print(file, line, file=sys.stderr)
    act()


if __name__ == "__main__":
    show_import()
    for _ in range(ROUNDS):
        for batch in DataLoader([torch.ones(2)] * 4):
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
        for name, way in WAYS.items():
            show_warnings(name, way)
            show_failure(name, way)
    for recurse in (in_prints, in_loaders, in_backwards, in_saves):
        recurse(LEVELS)
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    text = re.sub(r"0x[0-9a-f]+", "0x", "\n".join(shown))
    print(json.dumps({"shown": text.splitlines(), "frames": frames, "levels": LEVELS}))
