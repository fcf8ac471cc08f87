"""The Trainer of transformers on a tiny model, four batches to a step, evaluated twice."""

import torch
from telling import begin, tell, tell_end
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
config = GPT2Config(
    vocab_size=32, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
)
model = GPT2LMHeadModel(config)


def sentences(count: int) -> list[dict[str, torch.Tensor]]:
    """Numbers that count up."""
    result = [(torch.arange(12) + torch.randint(32, ())) % 32 for _ in range(count)]
    return [{"input_ids": entry, "labels": entry} for entry in result]


class Telling(TrainerCallback):
    """Prints what the trainer logs."""

    def on_log(self, args, state, control, logs=None, **rest) -> None:
        for name in ("loss", "grad_norm", "learning_rate", "eval_loss"):
            if name in logs:
                tell(name, logs[name])


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
    callbacks=[Telling()],
)
trainer.remove_callback(PrinterCallback)  # it prints how long things took
trainer.train()
tell_end(model)
