"""What is measured: kinflow's process, and work of PyTorch and its libraries.

A side is a function that gets seconds, works for about as long, and returns the seconds
of one step or of one row. Seconds are those of the processor.
"""

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy
import torch
from torch import Tensor, nn

Side = Callable[[float], float]

BATCH = 256
# Numbers of rows at once that are tried; all divide the number of rows.
PIECES = (1000, 4000, 20000, 100000)


def timed(run: Callable[[], None], units: int, seconds: float) -> float:
    start = time.process_time()
    done = 0
    while True:
        run()
        done += units
        passed = time.process_time() - start
        if passed >= seconds:
            return passed / done


class Kinflow:
    """The process of benchmarks/measure_on_request.cpp."""

    def __init__(self, program: Path, folder: Path):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.folder = folder
        self.versions = self.ask("about")
        self.ask(f"write {folder}")

    def ask(self, request: str) -> str:
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"no answer to '{request}'")
        return answer.strip()

    def side(self, work: str) -> Side:
        return lambda seconds: float(self.ask(f"{work} {seconds}"))

    def numbers(self, name: str, columns: int) -> Tensor:
        """A file that the process has written."""
        values = numpy.fromfile(self.folder / name, dtype=numpy.float32)
        return torch.from_numpy(values.reshape(-1, columns))

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def batches(rows: Tensor) -> Iterator[Tensor]:
    """Batches of an epoch in random order, epoch after epoch."""
    while True:
        for chosen in torch.randperm(len(rows)).split(BATCH):
            yield rows[chosen]


def training(flow: nn.Module, rows: Tensor, compiled: bool = False) -> Side:
    """Steps of Adamax on the mean negative log-density of a batch."""
    optimizer = torch.optim.Adamax(flow.parameters(), lr=1e-3)

    def loss(batch: Tensor) -> Tensor:
        return -flow.log_density(batch).mean()

    update = optimizer.step
    if compiled:
        loss, update = torch.compile(loss), torch.compile(update)
    stream = batches(rows)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss(next(stream)).backward()
        update()

    for _ in range(3):  # compiles
        step()
    return lambda seconds: timed(step, 1, seconds)


def best_piece(run: Callable[[int], None], pieces: Sequence[int] = PIECES) -> int:
    """The number of rows at once that is fastest."""
    seconds = {}
    for piece in pieces:
        run(piece)
        seconds[piece] = min(timed(lambda: run(piece), 1, 0) for _ in range(2))
    return min(seconds, key=seconds.__getitem__)


def scoring(flow: nn.Module, rows: Tensor, compiled: bool = False) -> tuple[Side, int]:
    """Log-densities of all rows, and how many are taken at once."""
    flow.eval()
    density = flow.log_density
    if compiled:
        density = torch.compile(density, dynamic=False)

    @torch.inference_mode()
    def run(piece: int) -> None:
        torch.cat([density(part) for part in rows.split(piece)])

    # Every number of rows is compiled by itself, which takes its time.
    piece = best_piece(run, PIECES[1:3] if compiled else PIECES)
    return lambda seconds: timed(lambda: run(piece), len(rows), seconds), piece


def drawing(flow: nn.Module, count: int) -> tuple[Side, int]:
    """Draws of so many rows, and how many are drawn at once."""
    flow.eval()

    @torch.inference_mode()
    def run(piece: int) -> None:
        torch.cat([flow.draw(piece) for _ in range(count // piece)])

    piece = best_piece(run)
    return lambda seconds: timed(lambda: run(piece), count, seconds), piece
