"""A GAN whose critic loss has two parts, with a backward call for each."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
generator = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=0.002, betas=(0.5, 0.999))
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=0.001, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)

for step in range(25):
    angles = torch.rand(32) * 6.283
    critic.zero_grad()
    real_loss = criterion(critic(torch.stack((angles.cos(), angles.sin()), dim=1)), ones)
    real_loss.backward()
    fake = generator(torch.randn(32, 4))
    fake_loss = criterion(critic(fake.detach()), zeros)
    fake_loss.backward()
    critic_optimizer.step()

    generator.zero_grad()
    generator_loss = criterion(critic(fake), ones)
    generator_loss.backward()
    generator_optimizer.step()
    print_value("critic", real_loss + fake_loss)
    print_value("generator", generator_loss)
print_final_state(generator, critic, generator_optimizer, critic_optimizer)
