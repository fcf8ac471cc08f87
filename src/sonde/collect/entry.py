"""Where the injected start-up module hands over: a framework has been imported."""

from sonde.collect.failure import watch_threads
from sonde.collect.frameworks import ADAPTERS
from sonde.collect.session import Session


def framework_loaded(name: str) -> None:
    """Attaches the framework's adapter to this process's session.

    Whatever goes wrong with the first one is the caller's to swallow: nothing is recorded that
    could say it. One that comes on top of another is switched off alone.

    Args:
        name: The module that was imported: a framework, or a part of one.
    """
    framework = name.partition(".")[0]
    session = Session.of_process()
    if framework in session.adapters:
        adapter = session.adapters[framework]
        session.guard.call(name, lambda: adapter.part_loaded(name), None)
    elif framework in ADAPTERS and session.adapters:
        session.guard.call(framework, lambda: _attach(framework, session), None)
    elif framework in ADAPTERS:
        watch_threads(session.observe)
        _attach(framework, session)


def _attach(framework: str, session: Session) -> None:
    adapter = ADAPTERS.load(framework)()
    adapter.attach(session)
    session.adapters[framework] = adapter
