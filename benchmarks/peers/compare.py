"""Times kinflow in turn with PyTorch, zuko, nflows and normflows, one thread each.

    python compare.py PROGRAM [--page docs/benchmarks.md]

PROGRAM is the built benchmarks/measure_on_request.cpp. In every round each side is
timed once for a short while, in a rotating order. Prints the tables and, with --page,
writes them into the page between two marker comments.
"""

import os

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import platform
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles

import torch

from library_flows import Nflows, Normflows, Zuko
from plain_flows import AffineFlow, PlainFlow, SplineFlow
from sides import Kinflow, Side, drawing, scoring, training

sys.path.append(str(Path(__file__).parent.parent))
from page_section import replace_section  # noqa: E402

COMMAND = "make bench-peers"
SCORED_ROWS = 100_000
# The same net in float32 gives the same log-densities to about this.
TOLERANCE = 1e-3


@dataclass
class Comparison:
    """Sides of the same work; the others are compared with the first."""

    title: str
    text: str
    per_row: bool
    sides: dict[str, Side]
    notes: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def run(self, rounds: int, duration: float) -> None:
        names = list(self.sides)
        self.seconds = {name: [] for name in names}
        for side in self.sides.values():
            side(duration / 2)
        for number in range(rounds):
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                self.seconds[name].append(self.sides[name](duration))

    def table(self) -> str:
        first = next(iter(self.sides))
        unit = "rows a second" if self.per_row else "ms a step"
        lines = [
            f"| side | {unit} | time, kinflow = 1 | middle half of rounds |",
            "|:---|---:|---:|---:|",
        ]
        for name, seconds in self.seconds.items():
            typical = median(seconds)
            cost = f"{1 / typical:,.0f}" if self.per_row else f"{1e3 * typical:.3g}"
            ratios = [own / base for own, base in zip(seconds, self.seconds[first])]
            low, middle, high = quantiles(ratios, n=4, method="inclusive")
            spread = "" if name == first else f"{low:.2f} to {high:.2f}"
            label = f"{name}, {self.notes[name]}" if name in self.notes else name
            lines.append(f"| {label} | {cost} | {middle:.2f} | {spread} |")
        return "\n".join(lines)

    def markdown(self) -> str:
        return f"### {self.title}\n\n{self.text}\n\n{self.table()}\n"


def with_weights_of(kinflow: Kinflow, name: str, flow: PlainFlow, columns: int):
    """Gives the flow kinflow's weights, and returns its training rows and the largest
    difference of a log-density."""
    rows = kinflow.numbers(f"{name}-rows", columns)
    flow.take_values(kinflow.numbers(f"{name}-values", 1).flatten())
    expected = kinflow.numbers(f"{name}-density", 1).flatten()
    with torch.no_grad():
        difference = (flow.log_density(rows) - expected).abs().max().item()
    if not difference < TOLERANCE:
        raise RuntimeError(f"the {name} nets differ: log-densities by {difference:.2g}")
    return rows, difference


def spline_steps(kinflow: Kinflow, flows: dict) -> Comparison:
    plain = SplineFlow()
    rows, difference = with_weights_of(kinflow, "spline", plain, 2)
    compiled = SplineFlow()
    compiled.load_state_dict(plain.state_dict())
    sides = {
        "kinflow": kinflow.side("step-spline"),
        "kinflow, dependence included": kinflow.side("step-spline-blocks"),
        "PyTorch": training(plain, rows),
        "PyTorch, compiled": training(compiled, rows, compiled=True),
    }
    flows["PyTorch"] = plain
    for name, make in {"zuko": Zuko, "nflows": Nflows, "normflows": Normflows}.items():
        flows[name] = make()
        sides[name] = training(flows[name], rows)
    sides["bare matrix products"] = kinflow.side("products-spline")
    return Comparison(
        "Training step, spline flow",
        "3 coupling layers of 2 columns, networks 64-64 with SiLU, 16 bins, batches of "
        "256 rows, Adamax. kinflow's step is an\nepoch of 40 batches divided by 40, "
        "with independent rows (`baseline`) and with blocks learned with the memory "
        "(*dependence\nincluded*). *PyTorch* is the same net: with kinflow's weights "
        f"its log-densities differ by at most {difference:.1g}. *Compiled* is\n"
        "`torch.compile` of the loss and of the optimiser's step. *Bare matrix "
        "products* are the 26 products of the step's networks\n(9 for each layer, "
        "without the gradient in the data) with `cblas_sgemm` of OpenBLAS.",
        False,
        sides,
    )


def affine_steps(kinflow: Kinflow) -> Comparison:
    plain, compiled = AffineFlow(), AffineFlow()
    rows, difference = with_weights_of(kinflow, "affine", plain, 30)
    compiled.load_state_dict(plain.state_dict())
    return Comparison(
        "Training step, affine flow",
        "16 coupling layers of 30 columns with a learned scale and shift after each, "
        "networks 128-128, batches of 256 rows, Adamax.\nLog-densities of the PyTorch "
        f"net differ from kinflow's by at most {difference:.1g}. The bare matrix "
        "products are 143.",
        False,
        {
            "kinflow": kinflow.side("step-affine"),
            "PyTorch": training(plain, rows),
            "PyTorch, compiled": training(compiled, rows, compiled=True),
            "bare matrix products": kinflow.side("products-affine"),
        },
    )


def at_once(piece: int) -> str:
    return f"{piece:,} at once"


def scores(kinflow: Kinflow, flows: dict) -> Comparison:
    rows = kinflow.numbers("scored-rows", 2)
    sides = {
        "kinflow": kinflow.side("score-float32"),
        "kinflow, float64": kinflow.side("score-float64"),
    }
    notes = {}
    for name, flow in flows.items():
        sides[name], piece = scoring(flow, rows)
        notes[name] = at_once(piece)
        if name == "PyTorch":
            label = "PyTorch, compiled"
            sides[label], piece = scoring(flow, rows, compiled=True)
            notes[label] = at_once(piece)
    return Comparison(
        "Log-densities",
        f"Of {SCORED_ROWS:,} rows under the spline flow, float32 where nothing else is "
        "said, without gradients (`torch.inference_mode`).\nThe command line of "
        "kinflow scores in float64. Each library takes as many rows at once as suits "
        "it best.",
        True,
        sides,
        notes,
    )


def draws(kinflow: Kinflow, flows: dict) -> Comparison:
    sides = {
        "kinflow": kinflow.side("sample-float32"),
        "kinflow, float64": kinflow.side("sample-float64"),
    }
    notes = {}
    for name, flow in flows.items():
        if name == "PyTorch":
            continue
        sides[name], piece = drawing(flow, SCORED_ROWS)
        notes[name] = at_once(piece)
    return Comparison(
        "Draws",
        f"Of {SCORED_ROWS:,} rows from the same flows, the standard normal numbers "
        "included. normflows gives the draws' log-densities too.",
        True,
        sides,
        notes,
    )


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":")[1].strip()
            return f"{os.cpu_count()} cores, {model}"
    return f"{os.cpu_count()} cores, {platform.machine()}"


def introduction(kinflow: Kinflow, rounds: int) -> str:
    names = ("zuko", "nflows", "normflows")
    libraries = "; ".join(f"{name} {version(name)}" for name in names)
    return (
        "## Other libraries\n\n"
        f"Written by `{COMMAND}` (`benchmarks/peers`). One thread each, {processor()}. "
        f"Sides take turns: {rounds} rounds, in each of\nwhich every side of a table "
        "is timed once, in a rotating order. Costs are medians of rounds; ratios are "
        "medians of the\nratios inside a round. Seconds are those of the processor, "
        "which other programs disturb less than those of the clock.\n\n"
        f"- {kinflow.versions}\n"
        f"- Python {platform.python_version()}; PyTorch {torch.__version__} "
        f"({torch.backends.cpu.get_cpu_capability()}); {libraries}\n\n"
        "The libraries get networks, bins, bound, batches and optimiser of kinflow's "
        "spline flow. What differs: zuko is its general\ncoupling with its spline, "
        "which bounds logarithms of bins and slopes smoothly where the others have a "
        "minimum of 1e-3; nflows\nand normflows divide the logits of bins by 8; all "
        "three steer with columns that are not cut off at the bound. kinflow's "
        "steps\nalone have weight decay, look whether the gradient is finite, and "
        "add up the likelihood of the epoch. The libraries run as they\nare, not "
        "compiled.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=0.3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.filterwarnings("ignore")

    with tempfile.TemporaryDirectory() as folder:
        kinflow = Kinflow(arguments.program, Path(folder))
        flows: dict[str, torch.nn.Module] = {}
        section = introduction(kinflow, arguments.rounds)
        for make in (
            lambda: spline_steps(kinflow, flows),
            lambda: affine_steps(kinflow),
            lambda: scores(kinflow, flows),
            lambda: draws(kinflow, flows),
        ):
            comparison = make()
            comparison.run(arguments.rounds, arguments.seconds)
            print(f"{comparison.title}\n{comparison.table()}\n", flush=True)
            section += "\n" + comparison.markdown()
        kinflow.close()
    if arguments.page:
        replace_section(arguments.page, "other libraries", section)


if __name__ == "__main__":
    main()
