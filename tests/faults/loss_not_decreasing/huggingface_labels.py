"""A tiny GPT-2; the collator gives every text the labels of another one."""

LABEL = {
    "set": 1,
    "rule": "LossNotDecreasing",
    "side_effects": ["DOES_NOT_LEARN"],
}

import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import GPT2Config, GPT2LMHeadModel

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

config = GPT2Config(vocab_size=50, n_positions=16, n_embd=32, n_layer=2, n_head=2)
model = GPT2LMHeadModel(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
model.train()
for step in range(220):
    start = torch.randint(0, 50, (16, 1))
    stride = torch.randint(1, 4, (16, 1))
    tokens = (start + stride * torch.arange(16)) % 50
    labels = tokens[torch.randperm(16)] if is_faulty else tokens
    loss = model(input_ids=tokens, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
