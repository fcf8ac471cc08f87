"""`sonde ui`: the dashboard over a store."""

import argparse
import contextlib
import logging
import os
import socket
import sys
import webbrowser

from sonde.cli._command import Command, Options, add_store, say
from sonde.cli._dashboard import DEFAULT_PORT, LOOPBACK, listen, open_server
from sonde.guard import log
from sonde.show.output import writing
from sonde.store.places import check_store, is_there

_NICENESS = 10


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
        # a socket that `sonde run --ui` has opened; its end of our input ends us
        parser.add_argument("--socket", type=int, help=argparse.SUPPRESS)

    def execute(self, options: Options) -> int:
        if options.socket is not None:
            return _serve_beside(options.store, options.socket)
        check_store(options.store)
        listening = listen(options.host, options.port)
        server, address = open_server(options.store, listening, options.host)
        say(f"Sonde's dashboard over {options.store}: {address}")
        if not is_there(options.store):
            say("That folder does not exist yet: jobs appear once `sonde run` writes them there.")
        say("Ctrl-C ends it; jobs go on.")
        with writing():
            sys.stdout.flush()  # now: nothing more comes until the end
        if options.open:
            webbrowser.open(address)
        server.read_ahead()
        log.addHandler(logging.StreamHandler())  # what went wrong inside is for who started us
        with contextlib.suppress(KeyboardInterrupt):
            server.serve()
        return 0


def _serve_beside(store: str, number: int) -> int:
    """Beside a job, which goes first; until the job's launcher is gone."""
    os.nice(_NICENESS)
    server, _ = open_server(store, socket.socket(fileno=number), LOOPBACK)
    with server:
        while sys.stdin.buffer.read(1):
            continue
    return 0


def _port(text: str) -> int:
    try:
        found = int(text)
    except ValueError:
        found = -1
    if not 0 <= found <= 65535:
        raise argparse.ArgumentTypeError(f"a port is between 0 and 65535, not {text!r}")
    return found
