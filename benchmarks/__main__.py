"""Runs benchmarks, prints their table and keeps their results: `python -m benchmarks [NAME …]`."""

import argparse
import sys

from benchmarks.isolation import in_process_of_its_own
from benchmarks.report import Row, circumstances, save, table, write_page

NAMES = (
    *("startup", "sampler", "writer", "follow", "sealed_size", "reader", "client_series"),
    *("hook_overhead", "small_steps", "smdebug_comparison", "trace_decoding", "rules_cost"),
    *("report_speed", "ui"),
)


def main() -> int:
    """Runs what was asked for; 1 when a promise is not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(NAMES)}")
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results alone")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; known: {', '.join(NAMES)}")
    everything: list[Row] = []
    for name in options.names or NAMES:
        print(f"{name} …", file=sys.stderr, flush=True)
        facts = circumstances()
        rows = in_process_of_its_own(name)
        everything += rows
        if not options.no_save:
            save(name, rows, facts)
    if not options.no_save:
        write_page()
    load = ", ".join(f"{one:g}" for one in circumstances()["load_average"])
    print(f"\n{table(everything)}\n\nload average at the end: {load}")
    return int(any(row.is_met is False for row in everything))


if __name__ == "__main__":
    sys.exit(main())
