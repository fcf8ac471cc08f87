"""What commands that ask rules share: the options that choose them."""

import argparse


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Which rules, and with what parameters."""
    parser.add_argument(
        "--rules", metavar="A,B", default="", help="only these (default: all of `sonde rules`)"
    )
    parser.add_argument(
        "--set",
        metavar="RULE.PARAMETER=VALUE",
        action="append",
        default=[],
        help="a parameter of a rule, or its setting=classic; may be repeated",
    )


def names_in(text: str) -> list[str]:
    """The names that an option lists."""
    return [name for name in text.split(",") if name]
