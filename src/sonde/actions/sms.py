"""`sms`: a short message to a telephone, through a provider's web address or a mail gateway."""

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
_LONGEST = 300  # characters: two messages
_USUAL_FIELDS = {"to": "{to}", "text": "{text}"}


def telephone_numbers(value: object, where: str) -> tuple[str, ...]:
    """One number or a list of them, with the code of the country."""
    several = value if isinstance(value, list | tuple) else [value]
    numbers = tuple(text(one, where) for one in several)
    for number in numbers or ("",):
        if not _NUMBER.fullmatch(number):
            raise UsageError(
                f"{where} = {number!r} is no telephone number. Write it like +4915112345678: "
                "a plus, the code of the country, at most 15 digits, nothing else."
            )
    return numbers


def _fields(value: object, where: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{where} = {value!r} must be a table, like {{To = '{{to}}'}}.")
    return {str(name): text(one, f"{where}.{name}") for name, one in value.items()}


def _gateway(value: object, where: str) -> str:
    template = text(value, where)
    if "{number}" not in template:
        raise UsageError(f"{where} = {template!r} must be like {{number}}@sms.example.org.")
    mail_address(template.replace("{number}", "15551234567"), where)
    return template


class Sms(MailingAction):
    """Send a short message to a telephone, through a provider's web address or a mail gateway."""

    keys: ClassVar[tuple[Key, ...]] = (
        key("to", telephone_numbers, "", "a number like +4915112345678, or a list of them"),
        key("url", web_address, "", "the provider's address; or use `gateway`"),
        *secret_keys("url", "the provider's address"),
        key("shape", one_of(("json", "form")), '"json"', "how the provider takes it"),
        key(
            *("fields", _fields, '{to = "{to}", text = "{text}"}'),
            "what the provider takes; {to} and {text} are filled in",
        ),
        *secret_keys("token", "the provider's token, sent as `Authorization: Bearer …`"),
        key(
            *("gateway", _gateway, ""),
            "the mail address that reaches a telephone, like `{number}@sms.example.org`",
        ),
        *MailingAction.mail_keys,
    )
    required: ClassVar[tuple[str, ...]] = ("to",)

    to: tuple[str, ...] = ()
    url: str | Secret | None = None
    shape: str = "json"
    fields: Mapping[str, str] = field(default_factory=lambda: dict(_USUAL_FIELDS))
    token: Secret | None = None
    gateway: str | None = None

    def ready(self) -> None:
        """There is exactly one way."""
        super().ready()
        if (self.url is None) == (self.gateway is None):
            raise UsageError(f"{self.name}: an sms needs either url or gateway.")
        if self.url is not None:
            read_address(self.url)

    def perform(self, occasion: Occasion) -> str:
        words = f"sonde: {one_line(occasion)}"[:_LONGEST]
        sent: list[str] = []
        for number in self.to:
            try:
                self._to_one(occasion, number, words)
            except ActionError as error:
                if not sent:
                    raise
                # another attempt would reach those twice whom it has reached
                reached = ", ".join(sent)
                said = f"sent to {reached}, not to {number}: {error}"
                raise ActionError(said, is_final=True) from None
            sent.append(number)
        return f"short message to {', '.join(sent)}"

    def _to_one(self, occasion: Occasion, number: str, words: str) -> None:
        if self.gateway is not None:
            place = self.gateway.replace("{number}", number.removeprefix("+"))
            self.mail(occasion.clock, (mail_address(place, "gateway"),), "sonde", words)
            return
        assert self.url is not None
        filled = {
            name: template.replace("{to}", number).replace("{text}", words)
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
