"""The Hugging Face Trainer: two named evaluation sets, four micro-batches per step."""

import torch
from reporting import print_final_state, print_value, seed_all
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.utils import logging

seed_all()
logging.disable_progress_bar()
size = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
model = BertForSequenceClassification(BertConfig(**size, intermediate_size=64))


def rows(count: int) -> list[dict[str, torch.Tensor]]:
    """Return random numbers, labeled by whether the first one is large."""
    numbers = torch.randint(1, 64, (count, 12))
    return [{"input_ids": row, "labels": row[0].gt(31).long()} for row in numbers]


class PrintLosses(TrainerCallback):
    """Prints what the trainer logs."""

    def on_log(self, args, state, control, logs=None, **others) -> None:
        for name in ("loss", "eval_near_loss", "eval_far_loss"):
            if name in logs:
                print_value(name, logs[name])


trainer = Trainer(
    model=model,
    args=TrainingArguments(
        output_dir="trainer",
        num_train_epochs=2,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=7,
        gradient_accumulation_steps=4,
        learning_rate=1e-3,
        logging_steps=1,
        eval_strategy="epoch",
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    ),
    train_dataset=rows(56),
    eval_dataset={"near": rows(20), "far": rows(23)},
    callbacks=[PrintLosses()],
)
trainer.remove_callback(PrinterCallback)
trainer.train()
trainer.evaluate()
print_final_state(model)
