"""The dashboard's server in a thread of the test process."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.cli.dashboard.server import LOOPBACK, address_of, listen, open_server
from sonde.cli.dashboard.token import load_token

if TYPE_CHECKING:
    from sonde.web.server import DashboardServer


@dataclass
class Served:
    """A running server of a store."""

    server: "DashboardServer"
    address: str

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self.server.port

    def page(self, job: str, page: str, more: str = "") -> str:
        """The URL of a page of a job."""
        return f"{self.address}#/jobs/{job}/{page}{f'?{more}' if more else ''}"

    def stop(self) -> None:
        """Stop the server."""
        self.server.__exit__(None, None, None)


def serve(store: str, port: int = 0) -> Served:
    """Start a server; it accepts connections when this returns."""
    token = load_token()
    server = open_server(store, listen(LOOPBACK, port), token, is_local=True)
    return Served(server.__enter__(), address_of(LOOPBACK, server.port, token))
