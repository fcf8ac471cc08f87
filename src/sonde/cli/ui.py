"""`sonde ui`: the dashboard over a store."""

import argparse
import contextlib
import logging
import os
import socket
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from sonde.cli._command import Command, Options, add_store, say
from sonde.cli._spools import send_spools
from sonde.cli.dashboard.link_file import link_file
from sonde.cli.dashboard.log_lines import OncePerMinute
from sonde.cli.dashboard.server import (
    DEFAULT_PORT,
    LOOPBACK,
    address_of,
    listen,
    listen_on_path,
    open_server,
)
from sonde.cli.dashboard.token import load_token, new_token
from sonde.drawing.printable import writing
from sonde.errors import UsageError
from sonde.guard import log
from sonde.store.places import check_store, is_there
from sonde.web.hosts import is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sonde.web.server import DashboardServer

_NICENESS = 10


class Ui(Command):
    """Serve the dashboard: all jobs of a store, live, in a browser.

    Only this machine can reach it, unless --host says otherwise. The link that is printed holds a
    token, and nobody gets in without it, no other user of this machine either. The browser
    remembers the token. It stays the same from run to run, except with --host.
    """

    example = "sonde ui --store s3://bucket/team"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_store(parser)
        parser.add_argument(
            "--port",
            type=_port,
            help=f"0 takes any that is free (default: {DEFAULT_PORT})",
        )
        parser.add_argument("--host", help=f"the address to listen on (default: {LOOPBACK})")
        parser.add_argument(
            "--socket",
            metavar="PATH",
            type=Path,
            help="listen on a Unix socket, which only you can connect to, instead of a port",
        )
        parser.add_argument(
            "--no-token",
            action="store_true",
            help="let every user of this machine read, stop and remove your jobs",
        )
        parser.add_argument("--open", action="store_true", help="open it in a browser")
        # a socket that `sonde run --ui` has opened; its end of our input ends us
        parser.add_argument("--inherited-socket", type=int, help=argparse.SUPPRESS)

    def execute(self, options: Options) -> int:
        if options.inherited_socket is not None:
            return _serve_beside(options.store, options.inherited_socket)
        _check(options)
        check_store(options.store)
        send_spools(options.store)
        opened = _on_path(options) if options.socket else _on_port(options)
        with opened as (server, address):
            say(f"Sonde's dashboard over {options.store}: {address}")
            if not is_there(options.store):
                say("That folder does not exist yet: jobs appear once `sonde run` writes there.")
            say("Ctrl-C ends it; jobs go on.")
            with writing():
                sys.stdout.flush()  # now: nothing more comes until the end
            server.read_ahead()
            handler = logging.StreamHandler()  # what went wrong inside is for who started us
            handler.addFilter(OncePerMinute())
            log.addHandler(handler)
            with contextlib.suppress(KeyboardInterrupt):
                server.serve()
        return 0


def _check(options: Options) -> None:
    """Options that exclude each other."""
    if options.socket and (options.host is not None or options.port is not None or options.open):
        raise UsageError("--socket takes neither --host, --port nor --open: it is no network port.")
    if options.no_token and options.host is not None and not is_loopback(options.host):
        raise UsageError(
            f"--no-token with --host {options.host} would let the whole network stop and remove "
            "your jobs. Leave one of them out."
        )


@contextlib.contextmanager
def _on_port(options: Options) -> "Iterator[tuple[DashboardServer, str]]":
    host = LOOPBACK if options.host is None else options.host
    is_local = is_loopback(host)
    port = DEFAULT_PORT if options.port is None else options.port
    # what goes over a network can be overheard: that token is good for one run
    token = None if options.no_token else load_token() if is_local else new_token()
    with listen(host, port) as listening, contextlib.ExitStack() as stack:
        server = open_server(options.store, listening, token, is_local=is_local)
        address = address_of(host, server.port, token)
        if options.open:
            try:
                webbrowser.open(stack.enter_context(link_file(address)))
            except OSError as error:
                say(f"No browser was opened: {(error.strerror or str(error)).lower()}.")
        yield server, address


@contextlib.contextmanager
def _on_path(options: Options) -> "Iterator[tuple[DashboardServer, str]]":
    path = options.socket.absolute()
    with listen_on_path(path) as listening:
        try:
            yield open_server(options.store, listening, None, is_local=True), str(path)
        finally:
            path.unlink(missing_ok=True)


def _serve_beside(store: str, number: int) -> int:
    """Beside a job, which goes first; until the job's launcher is gone."""
    os.nice(_NICENESS)
    token = sys.stdin.buffer.readline().decode().strip()
    with open_server(store, socket.socket(fileno=number), token, is_local=True):
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
