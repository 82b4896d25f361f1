"""kinflow's training of the paper's image network in turns with PyTorch: the same network
written plainly, eager (with its defaults, on a GPU tf32 in convolutions) and compiled. Prints a table of images a second; on a CPU, of one
core, by processor time.

    python3 benchmarks/glow_speed.py --kinflow build/release/benchmarks/benchmark_glow \
        --device cuda --rounds 2
"""
import argparse
import json
import math
import subprocess
import time

import torch
from torch import nn


class DenseNetwork(nn.Module):
    def __init__(self, channels, width=64, layers=10, growth=64):
        super().__init__()
        self.first = nn.Conv2d(channels // 2, width, 1)
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(width + i * growth, width + i * growth, 1),
                nn.ReLU(inplace=True),
                nn.Conv2d(width + i * growth, growth, 3, padding=1),
                nn.ReLU(inplace=True),
            )
            for i in range(layers)
        )
        self.gate = nn.Conv2d(width + layers * growth, 3 * width, 1)
        self.last = nn.Conv2d(width, channels, 1)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, x):
        start = features = self.first(x)
        for layer in self.layers:
            features = torch.cat([features, layer(features)], 1)
        a, b, c = self.gate(features).chunk(3, 1)
        return self.last(start + a + b * torch.sigmoid(c))


class Step(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.mixing = nn.Parameter(torch.linalg.qr(torch.randn(channels, channels))[0])
        self.network = DenseNetwork(channels)

    def forward(self, x):
        log_abs_det = torch.slogdet(self.mixing)[1] * x.shape[2] * x.shape[3]
        x = torch.nn.functional.conv2d(x, self.mixing[:, :, None, None])
        seen, changed = x.chunk(2, 1)
        scale, shift = self.network(seen).chunk(2, 1)
        log_scale = 2 * torch.tanh(scale / 2)
        x = torch.cat([seen, shift + log_scale.exp() * changed], 1)
        return x, log_abs_det + log_scale.sum((1, 2, 3))


class Glow(nn.Module):
    def __init__(self, channels=3, steps=12):
        super().__init__()
        width = 4 * channels
        self.scales = nn.ModuleList(
            nn.ModuleList(Step(width) for _ in range(steps)) for _ in range(2)
        )
        self.width = width

    def forward(self, x):
        total, latents = 0, []
        for scale, steps in enumerate(self.scales):
            x = nn.functional.pixel_unshuffle(x, 2)
            if scale > 0:
                latents.append(x[:, self.width:].flatten(1))
                x = x[:, : self.width]
            for step in steps:
                x, log_abs_det = step(x)
                total = total + log_abs_det
        u = torch.cat([*latents, x.flatten(1)], 1)
        return 0.5 * u.square().sum(1) + 0.5 * u.shape[1] * math.log(2 * math.pi) - total


def torch_images_per_second(device, batch, side, steps, compiled, autocast, channels_last):
    torch.manual_seed(0)
    model = Glow().to(device)
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adamax(model.parameters(), lr=1e-3, weight_decay=1e-3)
    run = torch.compile(model) if compiled else model
    images = torch.randint(0, 256, (32 * batch, 3, side, side), device=device, dtype=torch.uint8)

    def train():
        rows = torch.randint(0, len(images), (batch,), device=device)
        x = (images[rows] + torch.rand(batch, 3, side, side, device=device)) / 256 - 0.5
        if channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=autocast):
            loss = run(x).mean()
        loss.backward()
        optimizer.step()

    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    for _ in range(2 if device == "cpu" else 5):
        train()
    wait()
    clock = time.process_time if device == "cpu" else time.perf_counter
    times = []
    for _ in range(3):
        start = clock()
        for _ in range(steps):
            train()
        wait()
        times.append(clock() - start)
    return batch * steps / sorted(times)[1]


def kinflow(program, *options):
    return json.loads(subprocess.run([program, *options], check=True, capture_output=True,
                                     text=True).stdout)


def compare_losses(program, common, steps):
    """Losses (nats of an image, means of ten steps) and device memory of both precisions."""
    runs = {name: kinflow(program, *common, "--steps", str(steps), *extra)
            for name, extra in (("float32", []), ("mixed", ["--mixed"]),
                                ("mixed, recomputed", ["--mixed", "--recompute"]))}
    exact, mixed = runs["float32"]["losses"], runs["mixed"]["losses"]
    print(f"\nlargest difference of the loss over {steps} steps: "
          f"{max(abs(m / e - 1) for m, e in zip(mixed, exact)):.2%}; "
          f"at the end {exact[-1]:.1f} in float32, {mixed[-1]:.1f} mixed")
    for name, run in runs.items():
        print(f"{name}: {run['images_per_second']:.0f} images a second, "
              f"{run['device_gib']:.2f} GiB of device memory")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kinflow", required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--compiled", action="store_true", help="also torch.compile")
    parser.add_argument("--curve", type=int, default=0,
                        help="also compare the losses of so many steps in both precisions")
    args = parser.parse_args()
    torch.set_num_threads(1)
    common = ["--device", args.device, "--batch", str(args.batch), "--side", str(args.side),
              "--timed", str(5 * args.steps)]
    warm_up = ["--steps", "10" if args.device == "cuda" else "0"]
    names = {"kinflow float32": [], "PyTorch eager": []}
    if args.device == "cuda":
        names |= {"kinflow mixed": [], "kinflow mixed, recomputed": []}
        if args.compiled:
            names |= {"PyTorch compiled tf32": [], "PyTorch compiled bfloat16, channels last": []}
    for _ in range(args.rounds):
        for name, values in names.items():
            if name.startswith("kinflow"):
                extra = (["--mixed"] if "mixed" in name else []) + (
                    ["--recompute"] if "recomputed" in name else [])
                values.append(kinflow(args.kinflow, *common, *warm_up, *extra)["images_per_second"])
                continue
            torch.backends.cuda.matmul.allow_tf32 = "tf32" in name
            values.append(torch_images_per_second(
                args.device, args.batch, args.side, args.steps, "compiled" in name,
                "bfloat16" in name, "channels last" in name))
    print(f"| {args.side} x {args.side}, batch {args.batch}, {args.device} | images a second |")
    print("|---|---|")
    for name, values in names.items():
        print(f"| {name} | {', '.join(f'{value:.4g}' for value in values)} |")
    if args.curve > 0:
        compare_losses(args.kinflow, common, args.curve)


if __name__ == "__main__":
    main()
