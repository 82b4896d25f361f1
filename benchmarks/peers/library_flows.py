"""The spline coupling flow of kinflow as other libraries build it."""

from functools import partial

import nflows.distributions
import nflows.flows
import nflows.transforms
import normflows
import torch
import zuko
from normflows.flows.neural_spline.coupling import PiecewiseRationalQuadraticCoupling
from torch import Tensor, nn

from plain_flows import BINS, BOUND, MINIMUM, network

LAYERS = 3
HIDDEN = [64, 64]


class Steering(nn.Module):
    """The conditioner network, as nflows and normflows call it."""

    # Both divide the widths and heights by its square root.
    hidden_features = HIDDEN[-1]

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.network = network(inputs, HIDDEN, outputs)

    def forward(self, inputs: Tensor, context: Tensor | None = None) -> Tensor:
        return self.network(inputs)


def mask(layer: int) -> Tensor:
    """1 for the column that is mapped."""
    return torch.tensor([0, 1] if layer % 2 == 0 else [1, 0])


class Zuko(nn.Module):
    """zuko's general coupling with its spline; its NSF with passes=2 maps the same
    columns, but through masked networks of all columns, which cost more."""

    def __init__(self):
        super().__init__()
        self.flow = zuko.flows.NICE(
            features=2,
            transforms=LAYERS,
            univariate=partial(
                zuko.transforms.MonotonicRQSTransform, bound=BOUND, slope=MINIMUM
            ),
            shapes=[(BINS,), (BINS,), (BINS - 1,)],
            hidden_features=HIDDEN,
            activation=nn.SiLU,
        )

    def log_density(self, rows: Tensor) -> Tensor:
        return self.flow().log_prob(rows)

    def draw(self, count: int) -> Tensor:
        return self.flow().sample((count,))


class Nflows(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [
            nflows.transforms.PiecewiseRationalQuadraticCouplingTransform(
                mask(layer), Steering, num_bins=BINS, tails="linear", tail_bound=BOUND
            )
            for layer in range(LAYERS)
        ]
        self.flow = nflows.flows.Flow(
            nflows.transforms.CompositeTransform(layers),
            nflows.distributions.StandardNormal([2]),
        )

    def log_density(self, rows: Tensor) -> Tensor:
        return self.flow.log_prob(rows)

    def draw(self, count: int) -> Tensor:
        return self.flow.sample(count)


class NormflowsLayer(normflows.flows.Flow):
    """As CoupledRationalQuadraticSpline of normflows, with our network in place of its
    residual one, and without its spline of the column that steers."""

    def __init__(self, layer: int):
        super().__init__()
        self.coupling = PiecewiseRationalQuadraticCoupling(
            mask(layer), Steering, num_bins=BINS, tails="linear", tail_bound=BOUND
        )

    def forward(self, latents: Tensor) -> tuple[Tensor, Tensor]:
        rows, log_det = self.coupling.inverse(latents)
        return rows, log_det.view(-1)

    def inverse(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        latents, log_det = self.coupling(rows)
        return latents, log_det.view(-1)


class Normflows(nn.Module):
    def __init__(self):
        super().__init__()
        self.flow = normflows.NormalizingFlow(
            normflows.distributions.DiagGaussian(2, trainable=False),
            [NormflowsLayer(layer) for layer in reversed(range(LAYERS))],
        )

    def log_density(self, rows: Tensor) -> Tensor:
        return self.flow.log_prob(rows)

    def draw(self, count: int) -> Tensor:
        return self.flow.sample(count)[0]
