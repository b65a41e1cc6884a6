"""Models: inference and training steps, each with static and with dynamic sizes.

A model is called at three sizes with dynamic=True, at one otherwise. Nothing is downloaded: the
configurations are small and the weights are random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from entries import Program, register
from torch import nn

Inputs = dict[str, Any]


@dataclass(frozen=True)
class Model:
    """build():     the module.
    inputs(n):      what it is called with at size n.
    loss(out):      of its output, for training.
    optimizer:      makes an optimizer of parameters; its step is compiled too.
    sizes:          the sizes it is called at; the first alone when static."""

    build: Callable[[], nn.Module]
    inputs: Callable[[int], Inputs]
    loss: Callable[[Any], torch.Tensor]
    optimizer: Callable[[Any], torch.optim.Optimizer]
    sizes: tuple[int, ...]


def draw_parameters(model: nn.Module) -> nn.Module:
    """Gives norms and biases the parameters of a trained model. Those of a fresh one are zeros and
    ones, and a kernel that takes one for another would be right."""
    for name, value in model.named_parameters():
        if value.dim() == 1:
            nn.init.normal_(value, mean=0.0 if "bias" in name else 1.0, std=0.1)
    for name, value in model.named_buffers():
        if name.endswith("running_var"):
            nn.init.uniform_(value, 0.5, 2.0)
        elif name.endswith("running_mean"):
            nn.init.normal_(value)
    return model


def inference(model: Model, dynamic: bool) -> Program:
    module = draw_parameters(model.build()).eval()
    calls = [model.inputs(size) for size in (model.sizes if dynamic else model.sizes[:1])]

    def program() -> None:
        compiled = torch.compile(module, dynamic=dynamic)
        with torch.no_grad():
            for inputs in calls:
                compiled(**inputs)

    return program


def training(model: Model, dynamic: bool) -> Program:
    """Two steps: optimizers allocate their state in the first."""
    module = draw_parameters(model.build()).train()
    optimizer = model.optimizer(module.parameters())
    sizes = model.sizes if dynamic else model.sizes[:1] * 2
    calls = [model.inputs(size) for size in sizes]

    def program() -> None:
        compiled = torch.compile(module, dynamic=dynamic)
        step = torch.compile(optimizer.step)
        for inputs in calls:
            optimizer.zero_grad()
            model.loss(compiled(**inputs)).backward()
            step()

    return program


# --- Our own --------------------------------------------------------------------------------------


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 64), nn.ReLU(),
        nn.Linear(64, 10),
    )  # fmt: skip


class Residual(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(after)
        self.shortcut = nn.Sequential()
        if before != after or stride != 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


class ResNet18(nn.Module):
    """The eighteen layers in their order, with few channels."""

    def __init__(self, width: int = 8, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 7, 2, padding=3, bias=False)
        self.norm = nn.BatchNorm2d(width)
        blocks = []
        before = width
        for stage in range(4):
            after = width << stage
            blocks += [Residual(before, after, 1 + (stage > 0)), Residual(after, after, 1)]
            before = after
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(before, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 2, padding=1)
        return self.head(F.adaptive_avg_pool2d(self.blocks(x), 1).flatten(1))


def encoder_layer() -> nn.Module:
    torch.backends.mha.set_fastpath_enabled(False)  # one call into a library, with nothing to fuse
    return nn.TransformerEncoderLayer(
        32, 4, 64, dropout=0.1, activation="gelu", batch_first=True, norm_first=True
    )


# --- Of the transformers package ------------------------------------------------------------------

VOCABULARY = 100


def tokens(length: int) -> torch.Tensor:
    return torch.randint(0, VOCABULARY, (2, length))


def gpt2() -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCABULARY, n_positions=64, n_embd=32, n_layer=2, n_head=2, use_cache=False
        )
    )


def bert() -> nn.Module:
    from transformers import BertConfig, BertModel

    return BertModel(
        BertConfig(
            vocab_size=VOCABULARY,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=64,
        )
    )


def llama() -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            intermediate_size=64,
            max_position_embeddings=64,
            use_cache=False,
        )
    )


def t5() -> nn.Module:
    from transformers import T5Config, T5ForConditionalGeneration

    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=VOCABULARY,
            d_model=32,
            d_kv=16,
            num_layers=2,
            num_heads=2,
            d_ff=64,
            use_cache=False,
        )
    )


def language_model_inputs(length: int) -> Inputs:
    ids = tokens(length)
    return {"input_ids": ids, "labels": ids}


def bert_inputs(length: int) -> Inputs:
    mask = torch.ones(2, length, dtype=torch.int64)
    mask[1, length // 2 :] = 0
    return {"input_ids": tokens(length), "attention_mask": mask}


def t5_inputs(length: int) -> Inputs:
    return {"input_ids": tokens(length), "decoder_input_ids": tokens(length // 2)}


def sgd(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def adam(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, lr=1e-3)


def adamw(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, lr=1e-3)


def mean_square(output: torch.Tensor) -> torch.Tensor:
    return output.square().mean()


def own_loss(output: Any) -> torch.Tensor:
    return output.loss


MODELS = {
    "mlp": Model(mlp, lambda n: {"input": torch.randn(n, 32)}, mean_square, sgd, (8, 12, 20)),
    "resnet18": Model(
        ResNet18, lambda n: {"x": torch.randn(n, 3, 32, 32)}, mean_square, sgd, (2, 3, 5)
    ),
    "encoder": Model(
        encoder_layer, lambda n: {"src": torch.randn(2, n, 32)}, mean_square, adam, (10, 14, 24)
    ),
    "gpt2": Model(gpt2, language_model_inputs, own_loss, adamw, (16, 24, 33)),
    "bert": Model(bert, bert_inputs, own_loss, adamw, (16, 24, 33)),
    "llama": Model(llama, language_model_inputs, own_loss, adamw, (16, 24, 33)),
    "t5": Model(t5, t5_inputs, own_loss, adamw, (16, 24, 34)),
}
TRAINED = ("mlp", "resnet18", "encoder", "gpt2", "llama")


def register_inference(name: str, group: str, model: Model, *, dynamic: bool) -> None:
    _register_way(f"{name}_inference", group, partial(inference, model), dynamic)


def register_training(name: str, group: str, model: Model, *, dynamic: bool) -> None:
    _register_way(f"{name}_training", group, partial(training, model), dynamic)


def _register_way(name: str, group: str, way: Callable[[bool], Program], dynamic: bool) -> None:
    register(f"{name}_dynamic" if dynamic else name, group, partial(way, dynamic))


def _register() -> None:
    ways = ((register_inference, tuple(MODELS)), (register_training, TRAINED))
    for register_way, names in ways:
        for name in names:
            for dynamic in (False, True):
                register_way(name, "models", MODELS[name], dynamic=dynamic)


_register()
