"""Where the injected start-up module hands over: a framework has been imported."""

from sonde.collect.failure import watch_threads
from sonde.collect.frameworks import ADAPTERS
from sonde.collect.session import Session


def framework_loaded(name: str) -> None:
    """Attaches the framework's adapter to this process's session.

    Whatever goes wrong here is the caller's to swallow: nothing is recorded yet that could say it.
    """
    if name in ADAPTERS:
        session = Session.of_process()
        watch_threads(session.observe)
        ADAPTERS.load(name)().attach(session)
