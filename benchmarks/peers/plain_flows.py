"""kinflow's spline and affine coupling flows in plain PyTorch.

The nets are the same number by number: with kinflow's weights they give its
log-densities.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

BOUND = 5.0
BINS = 16
# Smallest share of a bin in width and height, and smallest slope.
MINIMUM = 1e-3
# softplus of this is the slope 1 less the minimum.
SLOPE_OFFSET = math.log(math.expm1(1 - MINIMUM))


def network(inputs: int, hidden: list[int], outputs: int) -> nn.Sequential:
    widths = [inputs, *hidden, outputs]
    modules: list[nn.Module] = []
    for before, after in zip(widths, widths[1:]):
        modules += [nn.Linear(before, after), nn.SiLU()]
    return nn.Sequential(*modules[:-1])


def at(values: Tensor, index: Tensor) -> Tensor:
    return values.gather(-1, index).squeeze(-1)


def spline(inputs: Tensor, parameters: Tensor) -> tuple[Tensor, Tensor]:
    """Maps inputs [...] by the splines of parameters [..., 3 BINS - 1]; values and
    log-slopes."""
    logits = parameters[..., : 2 * BINS].unflatten(-1, (2, BINS))
    sizes = functional.softmax(logits, -1) * (1 - MINIMUM * BINS) + MINIMUM
    ends = sizes.cumsum(-1)
    slopes = functional.pad(
        functional.softplus(parameters[..., 2 * BINS :] + SLOPE_OFFSET) + MINIMUM,
        (1, 1),
        value=1.0,
    )
    position = (inputs.clamp(-BOUND, BOUND) + BOUND) / (2 * BOUND)
    index = (position.detach().unsqueeze(-1) >= ends.detach()[..., 0, :-1]).sum(
        -1, keepdim=True
    )
    # [..., 2, 1]: the same bin on both axes.
    on_both = index.unsqueeze(-2).expand(*index.shape[:-1], 2, 1)
    width, height = at(sizes, on_both).unbind(-1)
    right, top = at(ends, on_both).unbind(-1)
    slope_left, slope_right = at(slopes, index), at(slopes, index + 1)
    secant = height / width
    t = ((position - right) / width + 1).clamp(0, 1)
    rest = 1 - t
    between = t * rest
    denominator = secant + (slope_left + slope_right - 2 * secant) * between
    share = (secant * t * t + slope_left * between) / denominator
    numerator = slope_right * t * t + 2 * secant * between + slope_left * rest * rest
    values = (top + height * (share - 1)) * (2 * BOUND) - BOUND
    log_slopes = 2 * torch.log(secant / denominator) + torch.log(numerator)
    inside = inputs.abs() < BOUND
    return torch.where(inside, values, inputs), torch.where(inside, log_slopes, 0.0)


def standard_normal_log_density(latents: Tensor) -> Tensor:
    constant = 0.5 * latents.shape[-1] * math.log(2 * math.pi)
    return -0.5 * latents.square().sum(-1) - constant


class PlainFlow(nn.Module):
    """Coupling layers that map the second half of the columns, the first half, and so
    on."""

    def __init__(self, columns: int, layers: int, hidden: list[int], outputs: int):
        super().__init__()
        self.half = columns // 2
        self.networks = nn.ModuleList(
            network(self.half, hidden, self.half * outputs) for _ in range(layers)
        )

    def layer(self, number: int, steering: Tensor, mapped: Tensor):
        raise NotImplementedError

    def after(self, number: int, rows: Tensor, log_det: Tensor):
        return rows, log_det

    def log_density(self, rows: Tensor) -> Tensor:
        log_det = torch.zeros(())
        for number in range(len(self.networks)):
            first, second = rows[:, : self.half], rows[:, self.half :]
            if number % 2 == 0:
                second, log_slopes = self.layer(number, first, second)
            else:
                first, log_slopes = self.layer(number, second, first)
            rows = torch.cat((first, second), 1)
            rows, log_det = self.after(number, rows, log_det + log_slopes.sum(-1))
        return standard_normal_log_density(rows) + log_det

    def own_parameters(self, number: int) -> list[nn.Parameter]:
        """What layer `number` has besides its network, in kinflow's order."""
        return []

    @torch.no_grad()
    def take_values(self, values: Tensor) -> None:
        """Takes the weights from kinflow's buffer, where matrices are [in, out]."""
        place = 0
        for number, net in enumerate(self.networks):
            for parameter in [*net.parameters(), *self.own_parameters(number)]:
                piece = values[place : place + parameter.numel()]
                place += parameter.numel()
                if parameter.dim() == 2:
                    piece = piece.view(parameter.shape[::-1]).t()
                parameter.copy_(piece)
        assert place == len(values)


class SplineFlow(PlainFlow):
    def __init__(self, columns: int = 2, layers: int = 3):
        super().__init__(columns, layers, [64, 64], 3 * BINS - 1)

    def layer(self, number: int, steering: Tensor, mapped: Tensor):
        parameters = self.networks[number](steering.clamp(-BOUND, BOUND))
        return spline(mapped, parameters.unflatten(-1, (self.half, 3 * BINS - 1)))


class AffineFlow(PlainFlow):
    def __init__(self, columns: int = 30, layers: int = 16):
        super().__init__(columns, layers, [128, 128], 2)
        self.log_scales = nn.ParameterList(
            nn.Parameter(torch.zeros(columns)) for _ in range(layers)
        )
        self.shifts = nn.ParameterList(
            nn.Parameter(torch.zeros(columns)) for _ in range(layers)
        )

    def layer(self, number: int, steering: Tensor, mapped: Tensor):
        parameters = self.networks[number](steering).unflatten(-1, (self.half, 2))
        scale = torch.sigmoid(parameters[..., 0]) + 0.5
        return mapped * scale + parameters[..., 1], torch.log(scale)

    def after(self, number: int, rows: Tensor, log_det: Tensor):
        log_scale = self.log_scales[number]
        return rows * log_scale.exp() + self.shifts[number], log_det + log_scale.sum()

    def own_parameters(self, number: int) -> list[nn.Parameter]:
        return [self.log_scales[number], self.shifts[number]]
