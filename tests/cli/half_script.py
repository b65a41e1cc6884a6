"""Kernels in bfloat16 and float16 for tests."""

import torch


@torch.compile
def gated(x, gate, weight):
    scaled = x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 0.1).to(x.dtype)
    return torch.sigmoid(gate * 1.7) * scaled * weight + gate


@torch.compile
def attention_weights(scores, bias):
    return torch.softmax(scores * 0.7 + bias, dim=-1)


def main() -> None:
    torch.manual_seed(0)
    with torch.no_grad():
        for dtype in (torch.bfloat16, torch.float16):
            x, gate = torch.randn(2, 64, 48).to(dtype).unbind()
            gated(x, gate, torch.rand(48).to(dtype) + 0.5)
            attention_weights(torch.randn(64, 48).to(dtype), torch.randn(48).to(dtype))


main()
