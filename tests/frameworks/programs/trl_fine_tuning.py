"""Supervised fine-tuning with TRL on token IDs, evaluated at the end."""

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
from trl import SFTConfig, SFTTrainer

seed_all()
logging.disable_progress_bar()
words = {"<end>": 0, **{f"w{number}": number for number in range(1, 32)}}
splitting = Tokenizer(models.WordLevel(words, unk_token="<end>"))
splitting.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=splitting, eos_token="<end>", pad_token="<end>", unk_token="<end>"
)
size = {"vocab_size": 32, "n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2}
model = GPT2LMHeadModel(GPT2Config(**size, bos_token_id=0, eos_token_id=0))


def texts(count: int) -> Dataset:
    """Return token IDs that count up from a random one."""
    rows = [((torch.arange(12) + torch.randint(32, ())) % 32).tolist() for _ in range(count)]
    return Dataset.from_dict({"input_ids": rows})


class PrintLosses(TrainerCallback):
    """Prints what the trainer logs."""

    def on_log(self, args, state, control, logs=None, **others) -> None:
        for name in ("loss", "eval_loss"):
            if name in logs:
                print_value(name, logs[name])


trainer = SFTTrainer(
    model=model,
    processing_class=tokenizer,
    args=SFTConfig(
        output_dir="trainer",
        max_steps=6,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=4,
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
        dataset_num_proc=None,
    ),
    train_dataset=texts(48),
    eval_dataset=texts(8),
    callbacks=[PrintLosses()],
)
trainer.remove_callback(PrinterCallback)
trainer.train()
print_final_state(model)
