"""Waits within a step."""

import io
import pickle
import threading
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import nn

from tests.fakes.session import watched


class SlowFile(io.BytesIO):
    """A file whose writes block until `may_continue` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun, self.may_continue = threading.Event(), threading.Event()

    def write(self, content: Any) -> int:
        self.has_begun.set()
        self.may_continue.wait(30)
        return super().write(content)


def test_a_checkpoint_is_recorded_while_another_thread_writes_one() -> None:
    with watched() as recorded:
        model: Any = nn.Linear(4, 2)
        optimizer: Any = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            model(torch.ones(3, 4)).sum().backward()
            if step == 1:
                slow = SlowFile()
                thread = threading.Thread(target=torch.save, args=(model.state_dict(), slow))
                thread.start()
                assert slow.has_begun.wait(30)
                torch.save(model.state_dict(), io.BytesIO())
                slow.may_continue.set()
                thread.join()
            optimizer.step()

    assert recorded.phases(step=1).count("checkpoint") == 1


def test_saves_by_other_libraries_are_checkpoints(tmp_path: Path) -> None:
    with watched() as recorded:
        model: Any = nn.Linear(4, 2)
        optimizer: Any = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            model(torch.ones(3, 4)).sum().backward()
            if step == 1:
                with (tmp_path / "a.pickle").open("wb") as file:
                    pickle.dump([1, 2], file)
            elif step == 2:
                save_file(model.state_dict(), str(tmp_path / "a.safetensors"))
            optimizer.step()

    assert [recorded.phases(step=step).count("checkpoint") for step in range(4)] == [0, 1, 1, 0]
    assert pickle.loads((tmp_path / "a.pickle").read_bytes()) == [1, 2]
