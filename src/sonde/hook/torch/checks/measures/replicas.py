"""Models of which every worker holds a full copy."""

from typing import NamedTuple

from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from sonde.hook.session import Session
from sonde.hook.torch.loop.ddp import ever_wrapped
from sonde.hook.torch.loop.modules import Modules
from sonde.hook.torch.patching.names import Names, unwrapped
from sonde.hook.torch.tensors.shards import is_distributed

# state of a communication hook under which workers diverge between averages
_AVERAGED_LATER = "PostLocalSGDState"


class Replica(NamedTuple):
    """A model that every worker holds."""

    subject: str
    is_wrapped: bool  # by DDP, so it must be identical on all workers
    parameters: list[Tensor]


class Replicas:
    """Find models that are replicated on all workers."""

    def __init__(self, session: Session, modules: Modules, names: Names) -> None:
        self._session = session
        self._modules = modules
        self._names = names

    @property
    def are_compared(self) -> bool:
        """Whether there are several workers and replica checks are enabled."""
        session = self._session
        return session.store.worker.world_size > 1 and session.settings.replica_check_every > 0

    @property
    def version(self) -> tuple[int, int]:
        """A token that changes when models or optimizers may have changed."""
        return self._modules.made, len(self._modules.owned)

    def is_owned(self, parameter: Tensor) -> bool:
        """Return whether an optimizer owns a parameter."""
        return id(parameter) in self._modules.owned

    def find(self) -> list[Replica]:
        """Return the replicated models that are trained."""
        replicas = []
        for root in self._modules.roots:
            parameters: list[Tensor] = list(root.parameters())
            if any(map(self.is_owned, parameters)) and _is_replicated(root):
                subject = self._names.prefix_of(root) or type(unwrapped(root)).__name__
                is_wrapped = "DistributedDataParallel" in _kinds(root) or root in ever_wrapped
                replicas.append(Replica(subject, is_wrapped, parameters))
        return replicas


def _kinds(root: nn.Module) -> set[str]:
    return {kind.__name__ for module in root.modules() for kind in type(module).__mro__}


def _is_replicated(root: nn.Module) -> bool:
    """Return whether each worker holds the full model and takes the same steps.

    False for sharded models, delayed averaging, and uneven data (Join).
    """
    is_sharded = any(
        is_distributed(module) or hasattr(module, "ds_id") for module in root.parameters()
    )
    wrappers = [module for module in root.modules() if isinstance(module, DistributedDataParallel)]
    configs = [getattr(module, "_join_config", None) for module in wrappers]
    joins = any(getattr(module, "enable", False) for module in configs)
    hooks = [hook for module in wrappers for hook in getattr(module, "_comm_hooks", ())]
    is_whole = not (is_sharded or joins) and "FullyShardedDataParallel" not in _kinds(root)
    return is_whole and not any(type(state).__name__ == _AVERAGED_LATER for _, state in hooks)
