"""HTTP POST requests, and whether a failure may be retried."""

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

_TIMEOUT_SECONDS = 10.0
_RETRIABLE_STATUSES = (408, 425, 429)
_MAX_RETRY_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Post:
    """A POST request."""

    url: str
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


def web_address(value: object, key: str) -> str:
    """Validate a URL; it must not contain a password."""
    url = text(value, key)
    try:
        components = urlsplit(url)
        is_valid = (
            components.scheme in ("http", "https") and components.hostname and components.port != 0
        )
    except ValueError:
        is_valid = False
    if not is_valid or any(not char.isprintable() or char == " " for char in url):
        raise UsageError(f"{key} is not a valid URL. Example: https://example.org/hook")
    if components.username or components.password:
        raise UsageError(f"{key} contains a password. Use url_env or url_file instead.")
    return url


def read_address(url: str | Secret) -> str:
    """The URL, read from its secret if it is one."""
    return web_address(url.read(), url.key) if isinstance(url, Secret) else url


def login_header(user: str, password: str) -> dict[str, str]:
    """The header for HTTP basic authentication."""
    credentials = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {credentials}"}


def send(post: Post) -> str:
    """Send a request; return the status of the response.

    Raises:
        ActionError: The request failed. The URL may be a secret: only its host is named.
    """
    host = urlsplit(post.url).hostname
    headers = {"Content-Type": post.content_type, "User-Agent": "sonde", **post.headers}
    request = urllib.request.Request(post.url, post.body, headers, method="POST")
    try:
        with urllib.request.build_opener(_NoRedirect).open(
            request, timeout=_TIMEOUT_SECONDS
        ) as response:
            return f"{host} returned HTTP {response.status}"
    except urllib.error.HTTPError as error:
        with error:
            is_final = error.code < 500 and error.code not in _RETRIABLE_STATUSES
            raise ActionError(
                f"{host} returned HTTP {error.code}",
                is_final=is_final,
                after_seconds=_wait(error.headers.get("Retry-After")),
            ) from None
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise ActionError(f"cannot reach {host}: {reason}") from None


def _wait(header: str | None) -> float | None:
    """The delay in a Retry-After header, if it is in seconds."""
    return min(float(header), _MAX_RETRY_SECONDS) if header and header.isdecimal() else None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: a redirected POST becomes a GET, and the message is lost."""

    def redirect_request(self, *_: Any) -> None:
        return None
