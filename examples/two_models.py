"""A GPT-style block and a small ResNet, compiled for inference and called once each.

    fuseproof run examples/two_models.py
    fuseproof run examples/two_models.py --plant-relu-bug

The second uses a switch that torch has for testing: Inductor then turns every relu into x + 1.
"""

from __future__ import annotations

import argparse

import torch
import torch.nn.functional as F
from torch import nn


class GptBlock(nn.Module):
    def __init__(self, width: int = 64, heads: int = 4, vocabulary: int = 100) -> None:
        super().__init__()
        self.heads = heads
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(32, width)
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.norm3 = nn.LayerNorm(width)

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(batch, length, width))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        x = x + self.attention(self.norm1(x))
        x = x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))
        return self.norm3(x) @ self.tokens.weight.t()


class ResNet(nn.Module):
    def __init__(self, channels: int = 16, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.norm0 = nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(channels)
        self.classifier = nn.Linear(channels, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.norm0(self.stem(x))), 2)
        y = F.relu(self.norm1(self.conv1(x)))
        x = F.relu(x + self.norm2(self.conv2(y)))
        return self.classifier(x.mean(dim=(2, 3))).log_softmax(dim=-1)


def draw_norms(model: nn.Module) -> nn.Module:
    """Gives norms the parameters of a trained model. Those of a fresh one are zeros and ones, and a
    kernel that subtracts a zero bias instead of adding it would be right."""
    for module in model.modules():
        if isinstance(module, (nn.LayerNorm, nn.BatchNorm2d)):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias)
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plant-relu-bug", action="store_true")
    if parser.parse_args().plant_relu_bug:
        from torch._inductor import config

        config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"
    torch.manual_seed(0)
    gpt, resnet = draw_norms(GptBlock()), draw_norms(ResNet())
    with torch.no_grad():
        torch.compile(gpt)(torch.randint(0, 100, (2, 16)))
        torch.compile(resnet)(torch.randn(2, 3, 32, 32))


if __name__ == "__main__":
    main()
