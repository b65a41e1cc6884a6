"""Two models that no part of Fuseproof was written for: one of pictures, one that scans. They are
reported apart, as a sample of models that were never tried."""

from __future__ import annotations

import torch
from models import (
    VOCABULARY,
    Inputs,
    Model,
    adamw,
    language_model_inputs,
    own_loss,
    register_inference,
    register_training,
)
from torch import nn

_CLASSES = 10


def vit() -> nn.Module:
    from transformers import ViTConfig, ViTForImageClassification

    return ViTForImageClassification(
        ViTConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            image_size=16,
            patch_size=4,
            num_labels=_CLASSES,
        )
    )


def pictures(count: int) -> Inputs:
    return {
        "pixel_values": torch.randn(count, 3, 16, 16),
        "labels": torch.randint(0, _CLASSES, (count,)),
    }


def mamba() -> nn.Module:
    from transformers import MambaConfig, MambaForCausalLM

    return MambaForCausalLM(
        MambaConfig(
            vocab_size=VOCABULARY,
            hidden_size=32,
            state_size=8,
            num_hidden_layers=2,
            use_cache=False,
        )
    )


_MODELS = {
    "vit": Model(vit, pictures, own_loss, adamw, (4, 6, 9)),
    "mamba": Model(mamba, language_model_inputs, own_loss, adamw, (8, 10, 12)),
}

for _name, _model in _MODELS.items():
    register_inference(_name, "kept_out", _model, dynamic=False)
    register_inference(_name, "kept_out", _model, dynamic=True)
    register_training(_name, "kept_out", _model, dynamic=False)
