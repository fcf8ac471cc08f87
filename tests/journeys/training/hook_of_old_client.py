"""Trains with the hook of the old client, in training and evaluation, and checks a rule."""

import sys

import torch
from torch import nn

import smdebug.pytorch as smd
from smdebug.rules import Rule, invoke_rule
from smdebug.trials import create_trial


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 6)
        self.relu = nn.ReLU()
        self.fc2 = nn.Linear(6, 2)

    def forward(self, x):
        return {"logits": self.fc2(self.relu(self.fc1(x)))}


class SmallGradient(Rule):
    def __init__(self, base_trial, threshold):
        super().__init__(base_trial, other_trials=None)
        self.threshold = threshold
        self.steps = []

    def set_required_tensors(self, step):
        self.req_tensors.add("^gradient", [step], should_match_regex=True)

    def invoke_at_step(self, step):
        self.steps.append(step)
        return any(
            tensor.reduction_value(step, "mean", abs=True) < self.threshold
            for tensor in self.req_tensors.get()
        )


out_dir = sys.argv[1]
torch.manual_seed(0)
hook = smd.Hook(
    out_dir,
    save_config=smd.SaveConfig(save_interval=2),
    include_collections=["weights", "gradients", "relu"],
)
hook.get_collection("relu").include("relu_output")
hook.get_collection("gradients").reduction_config = smd.ReductionConfig(
    reductions=["mean", "prod"], norms=["l2"]
)
net, criterion = Net(), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
hook.register_module(net)
hook.register_loss(criterion)
for _ in range(2):
    hook.set_mode(smd.modes.TRAIN)
    net.train()
    for _ in range(3):
        inputs, labels = torch.randn(3, 4), torch.randint(0, 2, (3,))
        optimizer.zero_grad()
        criterion(net(inputs)["logits"], labels).backward()
        optimizer.step()
    hook.set_mode(smd.modes.EVAL)
    net.eval()
    with torch.no_grad():
        criterion(net(inputs)["logits"], labels)
    hook.save_scalar("accuracy", 0.5)
    hook.save_tensor("batch", inputs.to(torch.bfloat16), collections_to_write=["default", "mine"])

trial = create_trial(out_dir)  # while it is recorded
rule = SmallGradient(trial, threshold=0.0)
invoke_rule(rule, end_step=4)
assert rule.steps == [0, 2], rule.steps
print(sum(float(parameter.sum()) for parameter in net.parameters()))
