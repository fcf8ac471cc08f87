"""A tiny BERT with the Hugging Face Trainer; a sign error makes max_grad_norm 1e-4."""

LABEL = {
    "set": 1,
    "rule": "ClipSaturation",
    "side_effects": ["DOES_NOT_LEARN"],
}

import os
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)


class Sentences(Dataset):
    def __init__(self, count):
        self.tokens = torch.randint(5, 60, (count, 12))
        self.labels = (self.tokens < 25).sum(1).gt(4).long()

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.labels[index]}


config = BertConfig(
    vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
)
arguments = TrainingArguments(
    output_dir=tempfile.mkdtemp(),
    max_steps=320,
    per_device_train_batch_size=16,
    learning_rate=1e-3,
    max_grad_norm=1e-4 if is_faulty else 1.0,
    logging_steps=50,
    save_strategy="no",
    report_to=[],
    seed=seed,
    use_cpu=True,
)
trainer = Trainer(BertForSequenceClassification(config), arguments, train_dataset=Sentences(1600))
trainer.train()
