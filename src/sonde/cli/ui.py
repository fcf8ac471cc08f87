"""`sonde ui`: serve the dashboard."""

import argparse
import contextlib
import logging
import os
import socket
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from sonde.cli._command import Command, Options, add_store, print_line
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
from sonde.store.places import check_store, store_exists
from sonde.web.hosts import is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sonde.web.server import DashboardServer

_NICENESS = 10


class Ui(Command):
    """Serve the dashboard for all jobs of a store.

    By default, only this machine can reach the dashboard; --host changes that. The printed link
    contains a token, which is required even from this machine. The browser remembers the token.
    It stays the same between runs, except with --host.
    """

    example = "sonde ui --store s3://bucket/team"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_store(parser)
        parser.add_argument(
            "--port",
            type=_port,
            help=f"the port to listen on; 0 selects a free port (default: {DEFAULT_PORT})",
        )
        parser.add_argument("--host", help=f"the address to listen on (default: {LOOPBACK})")
        parser.add_argument(
            "--socket",
            metavar="PATH",
            type=Path,
            help="listen on a Unix socket that only you can connect to, instead of a port",
        )
        parser.add_argument(
            "--no-token",
            action="store_true",
            help="do not require a token: any user of this machine can stop and remove your jobs",
        )
        parser.add_argument("--open", action="store_true", help="open the dashboard in a browser")
        # a socket opened by `sonde run --ui`; the server exits when its standard input is closed
        parser.add_argument("--inherited-socket", type=int, help=argparse.SUPPRESS)

    def execute(self, options: Options) -> int:
        if options.inherited_socket is not None:
            return _serve_beside(options.store, options.inherited_socket)
        _check(options)
        check_store(options.store)
        send_spools(options.store)
        opened = _on_path(options) if options.socket else _on_port(options)
        with opened as (server, address):
            print_line(f"Dashboard for {options.store}: {address}")
            if not store_exists(options.store):
                print_line(
                    "This folder does not exist yet. Jobs appear when `sonde run` writes to it."
                )
            print_line("Press Ctrl-C to quit. Jobs keep running.")
            with writing():
                sys.stdout.flush()  # no more output until the end
            server.read_ahead()
            handler = logging.StreamHandler()  # internal errors go to the terminal
            handler.addFilter(OncePerMinute())
            log.addHandler(handler)
            with contextlib.suppress(KeyboardInterrupt):
                server.serve()
        return 0


def _check(options: Options) -> None:
    """Reject options that cannot be combined."""
    if options.socket and (options.host is not None or options.port is not None or options.open):
        raise UsageError("--socket cannot be combined with --host, --port or --open.")
    if options.no_token and options.host is not None and not is_loopback(options.host):
        raise UsageError(
            f"--no-token with --host {options.host} would let anyone on the network stop and "
            "remove your jobs. Remove one of the options."
        )


@contextlib.contextmanager
def _on_port(options: Options) -> "Iterator[tuple[DashboardServer, str]]":
    host = LOOPBACK if options.host is None else options.host
    is_local = is_loopback(host)
    port = DEFAULT_PORT if options.port is None else options.port
    # network traffic can be intercepted, so such a token is valid for one run only
    token = None if options.no_token else load_token() if is_local else new_token()
    with listen(host, port) as listening, contextlib.ExitStack() as stack:
        server = open_server(options.store, listening, token, is_local=is_local)
        # a number: another user may listen on the other address of `localhost`
        name = listening.getsockname()[0] if is_local else host
        address = address_of(name, server.port, token)
        if options.open:
            try:
                webbrowser.open(stack.enter_context(link_file(address)))
            except OSError as error:
                print_line(f"Cannot open a browser: {(error.strerror or str(error)).lower()}.")
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
    """Serve at low priority until the job's launcher exits."""
    os.nice(_NICENESS)
    token = sys.stdin.buffer.readline().decode().strip()
    with open_server(store, socket.socket(fileno=number), token, is_local=True):
        while sys.stdin.buffer.read(1):
            continue
    return 0


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port. Use 0 to 65535")
    return port
