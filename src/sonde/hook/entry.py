"""Where the injected start-up module hands over: a framework has been imported."""

from sonde.hook.failure import watch_threads
from sonde.hook.frameworks import ADAPTERS
from sonde.hook.session import Session


def framework_loaded(name: str) -> None:
    """Attaches the framework's adapter to this process's session.

    Whatever goes wrong with the first one is the caller's to swallow: nothing is recorded that
    could say it. One that comes on top of another is switched off alone.

    Args:
        name: The module that was imported: a framework, or a part of one.
    """
    framework = name.partition(".")[0]
    session = Session.of_process()
    if framework in session.frameworks.adapters:
        adapter = session.frameworks.adapters[framework]
        session.guard.call(name, lambda: adapter.part_loaded(name), None)
    elif framework in ADAPTERS and session.frameworks.adapters:
        session.guard.call(framework, lambda: _attach(framework, session), None)
    elif framework in ADAPTERS:
        watch_threads(session.recorder.observe)
        _attach(framework, session)


def _attach(framework: str, session: Session) -> None:
    adapter = ADAPTERS.load(framework)()
    adapter.attach(session)
    session.frameworks.attach(framework, adapter)
