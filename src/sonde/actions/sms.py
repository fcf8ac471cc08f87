"""`sms`: send a text message through a provider's HTTP API or an email gateway."""

import json
import re
from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar
from urllib.parse import urlencode

from sonde.actions._action import Occasion, key, secret_keys
from sonde.actions._http import Post, login_header, read_address, send, web_address
from sonde.actions._mail import MailingAction, mail_address
from sonde.actions._message import one_line
from sonde.errors import ActionError, UsageError
from sonde.settings import Key, Secret
from sonde.settings.checks import one_of, text

_NUMBER = re.compile(r"\+[1-9][0-9]{6,14}")  # E.164
_MAX_LENGTH = 300  # characters: two messages
_DEFAULT_FIELDS = {"to": "{to}", "text": "{text}"}


def telephone_numbers(value: object, where: str) -> tuple[str, ...]:
    """Validate one phone number or a list, with country codes."""
    values = value if isinstance(value, list | tuple) else [value]
    numbers = tuple(text(number, where) for number in values)
    for number in numbers or ("",):
        if not _NUMBER.fullmatch(number):
            raise UsageError(
                f"{where} = {number!r} is not a phone number. Use the format +4915112345678: "
                "a plus, the country code, up to 15 digits in total, no spaces."
            )
    return numbers


def _fields(value: object, where: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{where} = {value!r} must be a table, like {{To = '{{to}}'}}.")
    return {str(name): text(template, f"{where}.{name}") for name, template in value.items()}


def _gateway(value: object, where: str) -> str:
    template = text(value, where)
    if "{number}" not in template:
        raise UsageError(
            f"{where} = {template!r} must contain {{number}}, as in {{number}}@sms.example.org."
        )
    mail_address(template.replace("{number}", "15551234567"), where)
    return template


class Sms(MailingAction):
    """Send a text message through a provider's HTTP API or an email gateway."""

    keys: ClassVar[tuple[Key, ...]] = (
        key("to", telephone_numbers, "", "phone number such as +4915112345678, or a list"),
        key("url", web_address, "", "URL of the provider; alternatively, set `gateway`"),
        *secret_keys("url", "the URL of the provider"),
        key("shape", one_of(("json", "form")), '"json"', "body format: `json` or `form`"),
        key(
            *("fields", _fields, '{to = "{to}", text = "{text}"}'),
            "fields of the body; {to} and {text} are replaced",
        ),
        *secret_keys("token", "the provider's token, sent as `Authorization: Bearer …`"),
        key(
            *("gateway", _gateway, ""),
            "address template of an email gateway, such as `{number}@sms.example.org`",
        ),
        *MailingAction.mail_keys,
    )
    required: ClassVar[tuple[str, ...]] = ("to",)

    to: tuple[str, ...] = ()
    url: str | Secret | None = None
    shape: str = "json"
    fields: Mapping[str, str] = field(default_factory=lambda: dict(_DEFAULT_FIELDS))
    token: Secret | None = None
    gateway: str | None = None

    def ready(self) -> None:
        """Check that either url or gateway is set."""
        super().ready()
        if (self.url is None) == (self.gateway is None):
            raise UsageError(f"{self.name}: set either url or gateway.")
        if self.url is not None:
            read_address(self.url)

    def perform(self, occasion: Occasion) -> str:
        text = f"sonde: {one_line(occasion)}"[:_MAX_LENGTH]
        sent: list[str] = []
        for number in self.to:
            try:
                self._send(occasion, number, text)
            except ActionError as error:
                if not sent:
                    raise
                # a retry would send duplicates
                recipients = ", ".join(sent)
                message = f"sent to {recipients}, not to {number}: {error}"
                raise ActionError(message, is_final=True) from None
            sent.append(number)
        return f"sent text message to {', '.join(sent)}"

    def _send(self, occasion: Occasion, number: str, text: str) -> None:
        if self.gateway is not None:
            address = self.gateway.replace("{number}", number.removeprefix("+"))
            self.mail(occasion.clock, (mail_address(address, "gateway"),), "sonde", text)
            return
        assert self.url is not None
        filled = {
            name: template.replace("{to}", number).replace("{text}", text)
            for name, template in self.fields.items()
        }
        is_form = self.shape == "form"
        body = urlencode(filled) if is_form else json.dumps(filled, ensure_ascii=False)
        content_type = "application/x-www-form-urlencoded" if is_form else "application/json"
        post = Post(read_address(self.url), body.encode(), content_type, self._headers())
        send(post)

    def _headers(self) -> dict[str, str]:
        if self.token is not None:
            return {"Authorization": f"Bearer {self.token.read()}"}
        if self.user is not None and self.password is not None:
            return login_header(self.user, self.password.read())
        return {}
