"""Ways to parallelize training over two processes, with their collectives; for torchrun."""

import gc
from collections.abc import Iterator

import torch
import torch.distributed as dist
from recorded_group import init_recorded_group, print_collectives
from reporting import digest, print_final_state, print_value, seed_all
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    loss_parallel,
    parallelize_module,
)

STEPS = 12


def new_model() -> nn.Sequential:
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4))


def batches() -> Iterator[tuple[Tensor, Tensor]]:
    for _ in range(STEPS):
        points = torch.randn(16, 8)
        yield points, points[:, :4].argmax(1)


def print_end_of(name: str, *models: nn.Module) -> None:
    parameters = [parameter for model in models for parameter in model.parameters()]
    shards = [
        parameter.to_local() if hasattr(parameter, "to_local") else parameter
        for parameter in parameters
    ]
    if dist.get_rank() == 0:
        print(name, digest(shards))
    print_collectives(name)


def train(name: str, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Train with clipping where torch supports it, evaluations, and a final non-finite loss."""
    kinds = {type(parameter.data) for parameter in model.parameters()}
    for step, (points, labels) in enumerate(batches()):
        optimizer.zero_grad()
        if step == STEPS - 1:
            points[0, 0] = torch.inf
        loss = nn.functional.cross_entropy(model(points), labels)
        loss.backward()
        if step % 4 == 0 and len(kinds) == 1:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if step % 4 == 1:
            optimizer.zero_grad(set_to_none=False)  # too late: checks report it
        optimizer.step()
        if dist.get_rank() == 0:
            print_value(f"{name} loss", loss)
        if step % 4 == 3:
            model.eval()
            with torch.no_grad():
                nn.functional.cross_entropy(model(points), labels)
            model.train()
    print_end_of(name, model)


def shard_fully(mesh: DeviceMesh) -> None:
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop):
        model = new_model()
        fully_shard(model[2], mesh=mesh)
        fully_shard(model, mesh=mesh)
        train(f"fsdp2 {kind.__name__}", model, kind(model.parameters(), lr=0.01))
    model = new_model()
    fully_shard(model, mesh=mesh, offload_policy=CPUOffloadPolicy(pin_memory=False))
    train("offloaded", model, torch.optim.Adam(model.parameters(), lr=0.01))


def split_layers(mesh: DeviceMesh) -> None:
    model = new_model()
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    train("tensor parallel", model, torch.optim.AdamW(model.parameters(), lr=0.01))


def split_loss(mesh: DeviceMesh) -> None:
    """Train with distributed activations, predictions and loss."""
    model = new_model()
    rows = RowwiseParallel(output_layouts=Shard(0), use_local_output=False)
    last = ColwiseParallel(input_layouts=Shard(0), output_layouts=Shard(-1), use_local_output=False)
    plan = {"0": ColwiseParallel(use_local_output=False), "2": rows, "4": last}
    parallelize_module(model, mesh, plan)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for points, labels in batches():
        optimizer.zero_grad()
        with loss_parallel():
            loss = nn.functional.cross_entropy(model(points), labels)
            loss.backward()
        optimizer.step()
    print_end_of("loss parallel", model)


def split_by_hand(mesh: DeviceMesh) -> None:
    """Train with a loss that is distributed over the processes."""
    torch.manual_seed(7)
    weight = nn.Parameter(distribute_tensor(torch.randn(8, 4), mesh, [Shard(0)]))
    optimizer = torch.optim.Adam([weight], lr=0.1)
    for _ in range(STEPS):
        points = distribute_tensor(torch.randn(4, 4), mesh, [Replicate()])
        optimizer.zero_grad()
        (points @ weight.t()).square().mean().backward()
        optimizer.step()
    print_collectives("by hand")


def run_pipeline() -> None:
    rank, model = dist.get_rank(), new_model()
    piece = model[2 * rank : 2 + 3 * rank]
    stage = PipelineStage(piece, rank, 2, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, 4, loss_fn=nn.functional.cross_entropy)
    optimizer = torch.optim.AdamW(piece.parameters(), lr=0.01)
    for points, labels in batches():
        optimizer.zero_grad()
        if rank == 0:
            schedule.step(points)
        else:
            schedule.step(target=labels, losses=[])
        optimizer.step()
    print_end_of("pipeline", piece)


seed_all()
init_recorded_group()
two = init_device_mesh("cpu", (2,))
shard_fully(two)
split_layers(two)
split_loss(two)
split_by_hand(two)
run_pipeline()
if dist.get_rank() == 0:
    print_final_state()
del two
gc.collect()
dist.destroy_process_group()
