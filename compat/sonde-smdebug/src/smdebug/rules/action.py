"""Actions of a rule: stop the training, or notify someone."""

import json
from typing import Any

from smdebug.core.warnings_once import warn_once


class Actions:
    """The actions of a rule, from the text that configures them; each runs once."""

    def __init__(self, actions_str: str = "", rule_name: str = "") -> None:
        self.rule_name = rule_name
        self.actions = _parsed(actions_str)
        self._is_done = False

    def invoke(self) -> None:
        """Run the actions."""
        if self._is_done:
            return
        self._is_done = True
        for action in self.actions:
            warn_once(
                f"rule {self.rule_name}: action {action['name']!r} is not available here. Set it "
                'in sonde.toml: actions = ["stop"], an email address or a URL.'
            )


def _parsed(actions_str: str) -> list[dict[str, Any]]:
    if not actions_str:
        return []
    try:
        document = json.loads(actions_str)
    except json.JSONDecodeError:
        warn_once(f"ignored actions that are not valid JSON: {actions_str!r}")
        return []
    entries = document if isinstance(document, list) else [document]
    return [entry for entry in entries if isinstance(entry, dict) and "name" in entry]
