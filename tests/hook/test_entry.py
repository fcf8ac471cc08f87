"""Attaching adapters when a framework is imported."""

import threading

import pytest

from sonde.hook import entry
from sonde.hook.entry import framework_loaded
from sonde.hook.frameworks import Adapter
from sonde.hook.session import Session

calls: list[tuple[str, object]] = []


class NotingAdapter(Adapter):
    """Notes its calls."""

    def attach(self, session: Session) -> None:
        calls.append(("attached", session))

    def detach(self) -> None:
        calls.append(("detached", None))

    def submodule_loaded(self, name: str) -> None:
        calls.append(("submodule", name))


class FailingAdapter(NotingAdapter):
    def attach(self, session: Session) -> None:
        raise RuntimeError("unsupported version")


class Slot(dict[str, type[Adapter]]):
    """Replaces the folder of adapters."""

    def load(self, name: str) -> type[Adapter]:
        return self[name]


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has imported nothing yet and belongs to no job."""
    monkeypatch.delenv("SONDE_JOB_URI", raising=False)
    monkeypatch.delenv("SONDE_WORKER_URI", raising=False)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    slot = Slot(torch=NotingAdapter, broken=FailingAdapter, lightning=NotingAdapter)
    monkeypatch.setattr(entry, "ADAPTERS", slot)
    monkeypatch.setattr(Session, "_current", None)
    calls.clear()


def test_adapter_is_attached_to_the_session_of_the_process() -> None:
    framework_loaded("torch")
    assert calls == [("attached", Session.of_process())]


def test_framework_without_an_adapter_is_ignored() -> None:
    framework_loaded("unheard_of")
    assert calls == []


def test_submodule_of_a_framework_is_passed_to_its_adapter() -> None:
    framework_loaded("torch")
    framework_loaded("torch.distributed")
    assert calls[1:] == [("submodule", "torch.distributed")]


def test_failure_of_the_first_adapter_reaches_the_caller() -> None:
    with pytest.raises(RuntimeError, match="unsupported version"):
        framework_loaded("broken")


def test_failure_of_a_further_adapter_disables_only_that_adapter() -> None:
    framework_loaded("torch")
    framework_loaded("broken")
    framework_loaded("lightning")
    assert [what for what, _ in calls] == ["attached", "attached"]
    assert "broken" in Session.of_process().guard.failed
