"""The Hugging Face Trainer on a tiny model, with accumulation over four batches."""

import torch
from reporting import print_final_state, print_value, seed_all
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
config = GPT2Config(
    vocab_size=32, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
)
model = GPT2LMHeadModel(config)


def sentences(count: int) -> list[dict[str, torch.Tensor]]:
    """Return sequences of consecutive numbers."""
    result = [(torch.arange(12) + torch.randint(32, ())) % 32 for _ in range(count)]
    return [{"input_ids": entry, "labels": entry} for entry in result]


class PrintLosses(TrainerCallback):
    """Prints what the trainer logs."""

    def on_log(self, args, state, control, logs=None, **rest) -> None:
        for name in ("loss", "grad_norm", "learning_rate", "eval_loss"):
            if name in logs:
                print_value(name, logs[name])


arguments = TrainingArguments(
    output_dir="trainer",
    max_steps=8,
    per_device_train_batch_size=4,
    per_device_eval_batch_size=8,
    gradient_accumulation_steps=4,
    learning_rate=0.01,
    logging_steps=1,
    eval_strategy="steps",
    eval_steps=4,
    save_strategy="no",
    report_to=[],
    use_cpu=True,
    disable_tqdm=True,
)
trainer = Trainer(
    model=model,
    args=arguments,
    train_dataset=sentences(128),
    eval_dataset=sentences(16),
    callbacks=[PrintLosses()],
)
trainer.remove_callback(PrinterCallback)  # it prints durations
trainer.train()
print_final_state(model)
