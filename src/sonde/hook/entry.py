"""Entry point for the injected startup module: attach the adapter of an imported framework."""

from sonde.hook.failure import watch_threads
from sonde.hook.frameworks import ADAPTERS
from sonde.hook.session import Session


def framework_loaded(name: str) -> None:
    """Attach the framework's adapter to this process's session.

    The caller handles a failure of the first adapter, since nothing is recorded yet. A failure of
    any further adapter disables only that adapter.

    Args:
        name: The imported module: a framework or one of its submodules.
    """
    framework = name.partition(".")[0]
    session = Session.of_process()
    if framework in session.frameworks.adapters:
        adapter = session.frameworks.adapters[framework]
        session.guard.call(name, lambda: adapter.submodule_loaded(name), None)
    elif framework in ADAPTERS and session.frameworks.adapters:
        session.guard.call(framework, lambda: _attach(framework, session), None)
    elif framework in ADAPTERS:
        watch_threads(session.recorder.observe)
        _attach(framework, session)


def _attach(framework: str, session: Session) -> None:
    adapter = ADAPTERS.load(framework)()
    adapter.attach(session)
    session.frameworks.attach(framework, adapter)
