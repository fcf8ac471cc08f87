"""Accelerate: two micro-batches per step, parameter groups, and a linear schedule."""

import torch
from accelerate import Accelerator
from reporting import print_value, seed_all
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, default_data_collator, get_scheduler

seed_all()
accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
size = {"vocab_size": 32, "n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2}
model = GPT2LMHeadModel(GPT2Config(**size, bos_token_id=0, eos_token_id=0))


def sentences(count: int) -> list[dict[str, torch.Tensor]]:
    """Return sequences of consecutive numbers with random starts."""
    rows = [(torch.arange(12) + torch.randint(32, ())) % 32 for _ in range(count)]
    return [{"input_ids": row, "labels": row} for row in rows]


def loader(count: int) -> DataLoader:
    """Return a loader with batches of four."""
    return DataLoader(sentences(count), batch_size=4, collate_fn=default_data_collator)


decayed = [parameter for name, parameter in model.named_parameters() if not name.endswith("bias")]
others = [parameter for name, parameter in model.named_parameters() if name.endswith("bias")]
groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=5e-3)
schedule = get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps=12)
model, optimizer, train_loader, eval_loader, schedule = accelerator.prepare(
    model, optimizer, loader(32), loader(12), schedule
)
for _ in range(3):
    model.train()
    losses = []
    for batch in train_loader:
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            losses.append(loss.item())
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            print_value("loss", sum(losses) / len(losses))
            losses = []
    model.eval()
    evaluated = []
    for batch in eval_loader:
        with torch.no_grad():
            evaluated.append(model(**batch).loss)
    print_value("evaluation", torch.stack(evaluated).mean())
