"""Dropout and label smoothing in training only: evaluations are better from the start."""

LABEL = {"set": 1, "rule": None}

import sys
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

seed = int(sys.argv[2])
torch.manual_seed(seed)


class Notes(Dataset):
    """Notes of three classes, each of which prefers some words."""

    def __init__(self, count):
        self.kinds = torch.randint(0, 3, (count,))
        class_words = torch.randint(2, 22, (count, 20)) + 20 * self.kinds.unsqueeze(1)
        words = torch.randint(2, 62, (count, 20))
        self.words = torch.where(torch.rand(count, 20) < 0.4, class_words, words)
        self.words[:, 0] = 1

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, index):
        return {"input_ids": self.words[index], "labels": self.kinds[index]}


config = BertConfig(
    vocab_size=62,
    hidden_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=96,
    max_position_embeddings=20,
    hidden_dropout_prob=0.3,
    attention_probs_dropout_prob=0.3,
    num_labels=3,
)
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        max_steps=300,
        per_device_train_batch_size=16,
        gradient_accumulation_steps=2,
        learning_rate=1e-3,
        lr_scheduler_type="cosine",
        warmup_steps=30,
        label_smoothing_factor=0.1,
        eval_strategy="steps",
        eval_steps=50,
        save_strategy="no",
        logging_steps=50,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        seed=seed,
    )
    model = BertForSequenceClassification(config)
    Trainer(model, arguments, train_dataset=Notes(3000), eval_dataset=Notes(300)).train()
