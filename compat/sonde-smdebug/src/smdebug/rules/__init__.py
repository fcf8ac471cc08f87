"""Custom rules and how to run them."""

from smdebug.rules.rule import Rule
from smdebug.rules.rule_invoker import invoke_rule

__all__ = ["Rule", "invoke_rule"]
