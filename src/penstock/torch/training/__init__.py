"""Parts of a training run that are easily got wrong, for the trainers in `examples/` and for those of users.

`Schedule` gives learning rates, `Progress` honest averages and the line that people know, `Journal` a log, `Stopping`
an end on which all ranks agree, `save_checkpoint` and `load_checkpoint` files that are there whole or not at all.
`train_epoch` and `evaluate` are the loops, and a `Run` is all of it, from a `Feed` of batches to checkpoints.
"""

from penstock.torch.training.average import WeightAverage
from penstock.torch.training.checkpoint import load_checkpoint, random_state, restore_random_state, save_checkpoint
from penstock.torch.training.feeds import Feed, Loaded, Synthetic
from penstock.torch.training.journal import Journal, read_journal
from penstock.torch.training.loop import Step, evaluate, train_epoch
from penstock.torch.training.meters import Progress, hours_left
from penstock.torch.training.mixup import mixed
from penstock.torch.training.models import clip_model, image_model
from penstock.torch.training.ranks import Ranks, joined, leave
from penstock.torch.training.run import Keeping, Run
from penstock.torch.training.schedule import POLICIES, Plateau, Schedule
from penstock.torch.training.stopping import Stopping
from penstock.torch.training.verdict import verdict

__all__ = [
    "POLICIES",
    "Feed",
    "Journal",
    "Keeping",
    "Loaded",
    "Plateau",
    "Progress",
    "Ranks",
    "Run",
    "Schedule",
    "Step",
    "Stopping",
    "Synthetic",
    "WeightAverage",
    "clip_model",
    "evaluate",
    "hours_left",
    "image_model",
    "joined",
    "leave",
    "load_checkpoint",
    "mixed",
    "random_state",
    "read_journal",
    "restore_random_state",
    "save_checkpoint",
    "train_epoch",
    "verdict",
]
