"""torchrun: `sonde run torchrun …` on each machine, or a process that it has started."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from sonde.agent.clusters._cluster import Cluster, Level, Membership, number

_MODULES = ("torch.distributed.run", "torch.distributed.launch")
_FIRST_MACHINE = ("master-addr", "master-port")
_NO_ID = "none"  # what torchrun uses without --rdzv-id


class Torchrun(Cluster):
    """torchrun with a rendezvous ID, or with the address of the first machine."""

    level = Level.TORCHRUN

    def membership(self, variables: Mapping[str, str], command: Sequence[str]) -> Membership | None:
        """The rendezvous ID from the variables of a process, or from the command line."""
        if "TORCHELASTIC_RUN_ID" in variables:
            run_id = variables["TORCHELASTIC_RUN_ID"]
            return Membership(
                group=None if run_id == _NO_ID else run_id,
                local_rank=number(variables, "LOCAL_RANK"),
            )
        words = _torchrun_words(command)
        if words is None:
            return None
        options = _options(words)
        nodes = most_nodes(options.get("nnodes"))
        run_id = options.get("rdzv-id", _NO_ID)
        return Membership(
            group=_address(options, nodes) if run_id == _NO_ID else run_id, nodes=nodes
        )


def most_nodes(text: str | None) -> int | None:
    """The number of machines; the largest if a range such as `1:4` is given."""
    last = (text or "").rpartition(":")[2]
    return int(last) if last.isdecimal() else None


def _torchrun_words(command: Sequence[str]) -> Sequence[str] | None:
    """The words after torchrun in a command; None for other commands."""
    for index, word in enumerate(command):
        if PurePath(word).name == "torchrun":
            return command[index + 1 :]
        if word in _MODULES and index and command[index - 1] == "-m":
            return command[index + 1 :]
    return None


def _options(words: Sequence[str]) -> dict[str, str]:
    """The options before the script, whose own options may have the same names."""
    options: dict[str, str] = {}
    for index, word in enumerate(words):
        if word.endswith(".py") or word in ("-m", "--module"):
            break
        if word.startswith("--"):
            name, has_value, value = word[2:].partition("=")
            following = words[index + 1] if index + 1 < len(words) else ""
            options[name.replace("_", "-")] = value if has_value else following
    return options


def _address(options: Mapping[str, str], nodes: int | None) -> str | None:
    """The address of the first machine, if the job has several."""
    if nodes is None or nodes <= 1:
        return None
    if "rdzv-endpoint" in options:
        return options["rdzv-endpoint"]
    return "-".join(options[name] for name in _FIRST_MACHINE if name in options) or None
