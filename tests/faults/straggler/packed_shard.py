"""Two workers classify bird sounds; the shard of the second one is compressed."""

LABEL = {
    "set": 5,
    "rule": "Straggler",
    "side_effects": ["DataLoaderStarvation", "Dataloader", "HotFunction", "StepOutlier"],
    "workers": 2,
}

import sys
import zlib

import numpy
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.set_num_threads(1)
distributed.init_process_group("gloo")
rank = distributed.get_rank()
BANDS, FRAMES, BIRDS = 24, 48, 6
songs = torch.randn(BIRDS, BANDS, FRAMES, generator=torch.Generator().manual_seed(seed))
torch.manual_seed(1000 * seed + rank)


class Shard(Dataset):
    """The recordings of one worker; a packed shard contains each sound several times."""

    def __init__(self, number, packed):
        self.packed = packed
        self.birds = torch.randint(BIRDS, (number,)).tolist()
        self.sounds = []
        for bird in self.birds:
            sound = (songs[bird] + 1.5 * torch.randn(BANDS, FRAMES)) / 1.8
            if packed:
                takes = numpy.repeat(sound.numpy()[None].astype("float64"), 16, 0)
                self.sounds.append(zlib.compress(takes.tobytes(), 1))
            else:
                self.sounds.append(sound.numpy())

    def __len__(self):
        return len(self.birds)

    def __getitem__(self, index):
        sound = self.sounds[index]
        if self.packed:
            takes = numpy.frombuffer(zlib.decompress(sound)).reshape(16, BANDS, FRAMES)
            sound = takes[0].astype("float32")
        return torch.from_numpy(sound), self.birds[index]


loader = DataLoader(Shard(1600, is_faulty and rank == 1), 32, shuffle=True)
model = DistributedDataParallel(
    nn.Sequential(
        *(nn.Conv1d(BANDS, 48, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2)),
        *(nn.Conv1d(48, 64, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(4)),
        *(nn.Flatten(), nn.Linear(256, BIRDS)),
    )
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
criterion = nn.CrossEntropyLoss()
step = 0
for epoch in range(10):
    for sound, bird in loader:
        optimizer.zero_grad()
        loss = criterion(model(sound), bird)
        loss.backward()
        optimizer.step()
        step += 1
        if rank == 0 and step % 50 == 0:
            print(f"epoch {epoch}, {step}: {loss.item():.3f}", flush=True)
distributed.destroy_process_group()
