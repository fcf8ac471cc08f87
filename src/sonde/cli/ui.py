"""`sonde ui`: the dashboard over a store."""

import argparse
import webbrowser

from sonde.cli._command import Command, Options, add_store, say
from sonde.cli._dashboard import DEFAULT_PORT, LOOPBACK, open_server
from sonde.store.places import check_store


class Ui(Command):
    """Serve the dashboard: all jobs of a store, live, in a browser.

    Only this machine can reach it, unless --host says otherwise: then the address that is printed
    holds a token, and nobody gets in without it.
    """

    example = "sonde ui --store s3://bucket/team"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_store(parser)
        parser.add_argument(
            "--port",
            type=_port,
            default=DEFAULT_PORT,
            help=f"0 takes any that is free (default: {DEFAULT_PORT})",
        )
        parser.add_argument(
            "--host", default=LOOPBACK, help=f"the address to listen on (default: {LOOPBACK})"
        )
        parser.add_argument("--open", action="store_true", help="open it in a browser")

    def execute(self, options: Options) -> int:
        check_store(options.store)
        server, address = open_server(options.store, options.host, options.port)
        say(f"Sonde's dashboard over {options.store}: {address}")
        say("Ctrl-C ends it; jobs go on.")
        if options.open:
            webbrowser.open(address)
        server.serve()
        return 0


def _port(text: str) -> int:
    try:
        found = int(text)
    except ValueError:
        found = -1
    if not 0 <= found <= 65535:
        raise argparse.ArgumentTypeError(f"a port is between 0 and 65535, not {text!r}")
    return found
