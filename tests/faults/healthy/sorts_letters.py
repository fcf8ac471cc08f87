"""The Hugging Face Trainer: a tiny T5 learns to sort letters, with labels padded by -100."""

LABEL = {"set": 3, "rule": None}

import logging
import random
import sys
import tempfile
import warnings

import torch
import transformers
from torch.nn.utils.rnn import pad_sequence

seed = int(sys.argv[2])
transformers.set_seed(seed)
transformers.logging.set_verbosity_error()
logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")
chance = random.Random(seed)
PAD, END, LETTERS = 0, 1, range(2, 22)


def words(number):
    rows = []
    for _ in range(number):
        word = [chance.choice(LETTERS) for _ in range(chance.randrange(5, 9))]
        rows.append({"input_ids": [*word, END], "labels": [*sorted(word), END]})
    return rows


def collate(rows):
    inputs = [torch.tensor(row["input_ids"]) for row in rows]
    labels = [torch.tensor(row["labels"]) for row in rows]
    inputs = pad_sequence(inputs, batch_first=True, padding_value=PAD)
    return {
        "input_ids": inputs,
        "attention_mask": (inputs != PAD).long(),
        "labels": pad_sequence(labels, batch_first=True, padding_value=-100),
    }


config = transformers.T5Config(
    vocab_size=22,
    d_model=64,
    d_kv=16,
    d_ff=128,
    num_layers=1,
    num_heads=4,
    dropout_rate=0.0,
    decoder_start_token_id=PAD,
)
model = transformers.T5ForConditionalGeneration(config)
arguments = transformers.TrainingArguments(
    output_dir=tempfile.mkdtemp(),
    per_device_train_batch_size=32,
    max_steps=300,
    learning_rate=2e-3,
    lr_scheduler_type="cosine",
    warmup_steps=30,
    eval_strategy="steps",
    eval_steps=60,
    logging_steps=30,
    save_strategy="no",
    report_to=[],
    use_cpu=True,
    disable_tqdm=True,
    seed=seed,
)
trainer = transformers.Trainer(
    model, arguments, collate, train_dataset=words(9600), eval_dataset=words(320)
)
trainer.train()
