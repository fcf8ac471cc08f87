"""The Trainer of transformers with two workers, two micro-batches to a step, evaluated twice."""

import os

import torch
from telling import begin, tell
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.utils import logging

begin()
logging.disable_progress_bar()
size = {"vocab_size": 32, "n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2}
model = GPT2LMHeadModel(GPT2Config(**size, bos_token_id=0, eos_token_id=0))


def sentences(count: int) -> list[dict[str, torch.Tensor]]:
    """Numbers that count up from a random one."""
    rows = [(torch.arange(12) + torch.randint(32, ())) % 32 for _ in range(count)]
    return [{"input_ids": row, "labels": row} for row in rows]


class Telling(TrainerCallback):
    """Prints what the trainer logs, in the first worker."""

    def on_log(self, args, state, control, logs=None, **others) -> None:
        for name in ("loss", "eval_loss"):
            if name in logs and os.environ.get("RANK", "0") == "0":
                tell(name, logs[name])


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
    callbacks=[Telling()],
)
trainer.remove_callback(PrinterCallback)
trainer.train()
