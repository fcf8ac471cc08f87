"""A tiny GPT with the Hugging Face Trainer; MultiplicativeLR gets factors for LambdaLR."""

LABEL = {
    "set": 1,
    "rule": "LearningRateCollapse",
    "side_effects": ["WeightUpdateRatio", "UnchangedTensor", "DOES_NOT_LEARN"],
}

import os
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from torch.optim.lr_scheduler import LambdaLR, MultiplicativeLR
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)


class Chains(Dataset):
    def __init__(self, count):
        after = torch.randn(40, 40).mul(2).softmax(1)
        chain = [torch.randint(0, 40, (count,))]
        for _ in range(15):
            chain.append(torch.multinomial(after[chain[-1]], 1).squeeze(1))
        self.tokens = torch.stack(chain, dim=1)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


config = GPT2Config(vocab_size=40, n_positions=16, n_embd=32, n_layer=2, n_head=2)
model = GPT2LMHeadModel(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
schedule = MultiplicativeLR if is_faulty else LambdaLR
scheduler = schedule(optimizer, lambda step: 1 / (1 + 0.005 * step))
arguments = TrainingArguments(
    output_dir=tempfile.mkdtemp(),
    max_steps=400,
    per_device_train_batch_size=16,
    logging_steps=40,
    save_strategy="no",
    report_to=[],
    seed=seed,
    use_cpu=True,
)
trainer = Trainer(model, arguments, train_dataset=Chains(3200), optimizers=(optimizer, scheduler))
trainer.train()
