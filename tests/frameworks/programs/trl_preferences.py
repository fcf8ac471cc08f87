"""Preference optimization with TRL and a reference model, two micro-batches per step."""

import torch
from datasets import Dataset
from reporting import print_final_state, print_value, seed_all
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    PrinterCallback,
    TrainerCallback,
)
from transformers.utils import logging
from trl import DPOConfig, DPOTrainer

seed_all()
logging.disable_progress_bar()
words = {"<end>": 0, **{f"w{number}": number for number in range(1, 32)}}
splitting = Tokenizer(models.WordLevel(words, unk_token="<end>"))
splitting.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=splitting, eos_token="<end>", pad_token="<end>", unk_token="<end>"
)
size = {"vocab_size": 32, "n_positions": 32, "n_embd": 16, "n_layer": 1, "n_head": 2}
config = GPT2Config(**size, bos_token_id=0, eos_token_id=0)
model, reference = GPT2LMHeadModel(config), GPT2LMHeadModel(config)
reference.load_state_dict(model.state_dict())


def pairs(count: int) -> Dataset:
    """Return pairs of preferred (consecutive) and rejected number sequences."""
    rows = []
    for first in torch.randint(1, 20, (count,)).tolist():
        chosen, rejected = f" w{first + 2} w{first + 3}", f" w{first + 5} w{first + 1}"
        rows.append({"prompt": f"w{first} w{first + 1}", "chosen": chosen, "rejected": rejected})
    return Dataset.from_list(rows)


class PrintLosses(TrainerCallback):
    """Prints what the trainer logs."""

    def on_log(self, args, state, control, logs=None, **others) -> None:
        for name in ("loss", "eval_loss"):
            if name in logs:
                print_value(name, logs[name])


trainer = DPOTrainer(
    model=model,
    ref_model=reference,
    args=DPOConfig(
        output_dir="trainer",
        max_steps=6,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=4,
        gradient_accumulation_steps=2,
        learning_rate=0.01,
        logging_steps=1,
        eval_strategy="steps",
        eval_steps=3,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        bf16=False,
        disable_tqdm=True,
        gradient_checkpointing=False,
    ),
    train_dataset=pairs(48),
    eval_dataset=pairs(10),
    processing_class=tokenizer,
    callbacks=[PrintLosses()],
)
trainer.remove_callback(PrinterCallback)
trainer.train()
print_final_state(model)
