"""One request to a web server, and what its answer means for another attempt."""

import base64
import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from sonde.errors import ActionError, UsageError
from sonde.settings import Secret
from sonde.settings.checks import text

_SECONDS = 10.0
_MAY_WORK_LATER = (408, 425, 429)
_LONGEST_WAIT_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Post:
    """What is sent."""

    url: str
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


def web_address(value: object, key: str) -> str:
    """An address of the web, without a password in it."""
    url = text(value, key)
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or any(not one.isprintable() or one == " " for one in url):
        raise UsageError(f"{key} is no address. Write it like https://example.org/hook")
    if parts.username or parts.password:
        raise UsageError(f"{key} holds a login: name a variable or a file that holds it instead.")
    return url


def read_address(url: str | Secret) -> str:
    """The address, read where it is a secret."""
    return web_address(url.read(), url.key) if isinstance(url, Secret) else url


def login_header(user: str, password: str) -> dict[str, str]:
    """How a request says who sends it."""
    both = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {both}"}


def send(post: Post) -> str:
    """Sends it; what the server said.

    Raises:
        ActionError: It did not arrive, or was not taken. The address may be a secret: only its host
            is named.
    """
    host = urlsplit(post.url).hostname
    headers = {"Content-Type": post.content_type, "User-Agent": "sonde", **post.headers}
    request = urllib.request.Request(post.url, post.body, headers, method="POST")
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=_SECONDS) as answer:
            return f"{host} answered {answer.status}"
    except urllib.error.HTTPError as error:
        with error:
            is_final = error.code < 500 and error.code not in _MAY_WORK_LATER
            raise ActionError(
                f"{host} answered {error.code}",
                is_final=is_final,
                after_seconds=_wait(error.headers.get("Retry-After")),
            ) from None
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise ActionError(f"{host} cannot be reached: {reason}") from None


def _wait(told: str | None) -> float | None:
    """How long a server asks us to wait, where it says so in seconds."""
    return min(float(told), _LONGEST_WAIT_SECONDS) if told and told.isdecimal() else None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A message that is sent elsewhere would be sent as another kind of request, and be lost."""

    def redirect_request(self, *_: Any) -> None:
        return None
