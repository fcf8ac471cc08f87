"""The Hugging Face Trainer: two workers, two micro-batches per step, two evaluations."""

import os

import torch
from reporting import print_value, seed_all
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.utils import logging

seed_all()
logging.disable_progress_bar()
size = {"vocab_size": 32, "n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2}
model = GPT2LMHeadModel(GPT2Config(**size, bos_token_id=0, eos_token_id=0))


def sentences(count: int) -> list[dict[str, torch.Tensor]]:
    """Return sequences of consecutive numbers with random starts."""
    rows = [(torch.arange(12) + torch.randint(32, ())) % 32 for _ in range(count)]
    return [{"input_ids": row, "labels": row} for row in rows]


class PrintLosses(TrainerCallback):
    """Prints what the trainer logs, in the first worker."""

    def on_log(self, args, state, control, logs=None, **others) -> None:
        for name in ("loss", "eval_loss"):
            if name in logs and os.environ.get("RANK", "0") == "0":
                print_value(name, logs[name])


trainer = Trainer(
    model=model,
    args=TrainingArguments(
        output_dir="trainer",
        max_steps=8,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=4,
        gradient_accumulation_steps=2,
        learning_rate=0.01,
        logging_steps=1,
        eval_strategy="steps",
        eval_steps=4,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        ddp_backend="gloo",
    ),
    train_dataset=sentences(128),
    eval_dataset=sentences(16),
    callbacks=[PrintLosses()],
)
trainer.remove_callback(PrinterCallback)
trainer.train()
