"""Soft actor-critic: the loss of the actor backpropagates through the critics."""

LABEL = {"set": 2, "rule": None}

import math
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

seed = int(sys.argv[2])
np.random.seed(seed)
torch.manual_seed(seed)


class Pendulum:
    def reset(self):
        self.th, self.w, self.t = np.random.uniform(-np.pi, np.pi), np.random.uniform(-1, 1), 0
        return self.obs()

    def obs(self):
        return np.array([math.cos(self.th), math.sin(self.th), self.w / 4], np.float32)

    def step(self, u):
        u = float(np.clip(u, -1, 1)) * 2
        n = ((self.th + np.pi) % (2 * np.pi)) - np.pi
        r = -(n * n + 0.1 * self.w**2 + 0.001 * u * u) / 8
        self.w = float(np.clip(self.w + (15 * math.sin(self.th) + 3 * u) * 0.05, -8, 8))
        self.th += self.w * 0.05
        self.t += 1
        return self.obs(), r, self.t >= 100


class SoftQNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(4, 64), nn.Linear(64, 64), nn.Linear(64, 1)

    def forward(self, x, a):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(torch.cat([x, a], 1))))))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc_mean, self.fc_logstd = (
            nn.Linear(3, 64),
            nn.Linear(64, 64),
            nn.Linear(64, 1),
            nn.Linear(64, 1),
        )

    def get_action(self, x):
        h = F.relu(self.fc2(F.relu(self.fc1(x))))
        mean = self.fc_mean(h)
        ls = -5 + 3.5 * (torch.tanh(self.fc_logstd(h)) + 1)
        normal = torch.distributions.Normal(mean, ls.exp())
        xt = normal.rsample()
        y = torch.tanh(xt)
        return y, (normal.log_prob(xt) - torch.log(1 - y.pow(2) + 1e-6)).sum(1, keepdim=True)


actor, qf1, qf2, q1t, q2t = Actor(), SoftQNetwork(), SoftQNetwork(), SoftQNetwork(), SoftQNetwork()
q1t.load_state_dict(qf1.state_dict())
q2t.load_state_dict(qf2.state_dict())
q_opt = torch.optim.Adam([*qf1.parameters(), *qf2.parameters()], lr=1e-3)
a_opt = torch.optim.Adam(actor.parameters(), lr=3e-4)
log_alpha = torch.zeros(1, requires_grad=True)
alpha = log_alpha.exp().item()
al_opt = torch.optim.Adam([log_alpha], lr=1e-3)
N = 2000
S, S2, A, R, D = (np.zeros((N, k), np.float32) for k in (3, 3, 1, 1, 1))
env = Pendulum()
obs = env.reset()
ret = 0
for g in range(700):
    a = (
        np.random.uniform(-1, 1, 1)
        if g < 150
        else actor.get_action(torch.as_tensor(obs)[None])[0].detach().numpy()[0]
    )
    nobs, r, done = env.step(a[0])
    ret += r
    S[g], S2[g], A[g], R[g], D[g] = obs, nobs, a, r, 0.0
    obs = nobs
    if done:
        print(f"global_step={g}, episodic_return={ret:.2f}")
        obs, ret = env.reset(), 0
    if g > 150:
        i = np.random.randint(0, g + 1, 64)
        o, o2, ac, rw, dn = (torch.from_numpy(b[i]) for b in (S, S2, A, R, D))
        with torch.no_grad():
            na, lp = actor.get_action(o2)
            y = rw + (1 - dn) * 0.97 * (torch.min(q1t(o2, na), q2t(o2, na)) - alpha * lp)
        qf_loss = F.mse_loss(qf1(o, ac), y) + F.mse_loss(qf2(o, ac), y)
        q_opt.zero_grad()
        qf_loss.backward()
        q_opt.step()
        if g % 2 == 0:
            for _ in range(2):
                pi, lp = actor.get_action(o)
                actor_loss = (alpha * lp - torch.min(qf1(o, pi), qf2(o, pi))).mean()
                a_opt.zero_grad()
                actor_loss.backward()
                a_opt.step()
                with torch.no_grad():
                    _, lp = actor.get_action(o)
                alpha_loss = (-log_alpha.exp() * (lp + (-1.0))).mean()
                al_opt.zero_grad()
                alpha_loss.backward()
                al_opt.step()
                alpha = log_alpha.exp().item()
        for p, t in [
            *zip(qf1.parameters(), q1t.parameters(), strict=False),
            *zip(qf2.parameters(), q2t.parameters(), strict=False),
        ]:
            t.data.copy_(0.005 * p.data + 0.995 * t.data)
        if g % 100 == 0:
            print(g, qf_loss.item(), actor_loss.item(), alpha)
