// Exponential decay in time: pairs of a batch, parameters without bounds, draws and
// conditional laws.

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/core/size.h"
#include "kinflow/dependence/kalman_filter.h"
#include "kinflow/dependence/markov_time.h"

namespace kinflow {
namespace {

/// The elements of A = C^-1 between the rows of a window, which is taken for the whole.
/// With the filter's F, K, L and N_i = 1/F_{i+1} + L_{i+1}^2 N_{i+1} (0 at the end):
///     A_ii = 1/F_i + K_i^2 N_i,
///     A_ij = -K_i L_{i+1} ... L_{j-1} (1/F_j - K_j L_j N_j),   i < j.
template <typename Number>
struct PrecisionElements {
  std::vector<Number> carry;     ///< K
  std::vector<Number> decay;     ///< L
  std::vector<Number> diagonal;  ///< A_ii
  std::vector<Number> head;      ///< 1/F_j - K_j L_j N_j
};

template <typename Number>
PrecisionElements<Number> precision_elements(double own_share, double decay_rate,
                                             const double* gaps, std::int64_t rows) {
  PrecisionElements<Number> result;
  std::vector<Number> variance;
  KalmanFilter<Number> filter(own_share, decay_rate);
  for (std::int64_t k = 0; k < rows; ++k) {
    const auto step = filter.step(gaps[k]);
    result.carry.push_back(step.carry);
    result.decay.push_back(step.decay);
    variance.push_back(step.variance);
  }
  result.diagonal.resize(to_size(rows));
  result.head.resize(to_size(rows));
  Number later = 0;
  for (std::size_t k = to_size(rows); k-- > 0;) {
    const Number inverse = Number(1) / variance[k];
    const Number carry = result.carry[k], decay = result.decay[k];
    result.diagonal[k] = inverse + carry * carry * later;
    result.head[k] = inverse - carry * decay * later;
    later = inverse + decay * decay * later;
  }
  return result;
}

}  // namespace

Array MarkovTime::pairs_rows(const Array& parameters, const Array& rows,
                             const Array& latents) const {
  const Array batch = on_cpu(checked_latents(parameters, latents, rows.size(0)));
  const auto all = settings(parameters);
  const std::int64_t b = batch.size(1), p = batch.size(2);
  const double weight = pair_weight(b);
  Array result = nd::empty_like(batch);
  std::vector<double> sum(to_size(p));
  for (std::int64_t r = 0; r < batch.size(0); ++r) {
    const Setting& setting = all[to_size(r)];
    const double* in = batch.data_ptr<double>() + r * b * p;
    double* out = result.data_ptr<double>() + r * b * p;
    for (const Window& window : windows(setting, rows)) {
      const auto elements = precision_elements<double>(
          setting.own_share, setting.decay_rate, gap_after_.data() + window.begin,
          window.end - window.begin);
      // Forwards each row gets the sum over the batch's rows before it, backwards that
      // over the rows after it.
      std::fill(sum.begin(), sum.end(), 0);
      std::int64_t place = window.wanted.front().first;
      for (const auto& [next, position] : window.wanted) {
        for (; place < next; ++place) {
          const double decay = elements.decay[to_size(place - window.begin)];
          for (double& number : sum) number *= decay;
        }
        const std::size_t k = to_size(next - window.begin);
        for (std::int64_t c = 0; c < p; ++c) {
          const double u = in[position * p + c];
          out[position * p + c] =
              elements.diagonal[k] * u + weight * elements.head[k] * sum[to_size(c)];
          sum[to_size(c)] = elements.decay[k] * sum[to_size(c)] - elements.carry[k] * u;
        }
        ++place;
      }
      std::fill(sum.begin(), sum.end(), 0);
      place = window.wanted.back().first;
      for (auto wanted = window.wanted.rbegin(); wanted != window.wanted.rend();
           ++wanted) {
        const auto [next, position] = *wanted;
        for (; place > next; --place) {
          const double decay = elements.decay[to_size(place - window.begin)];
          for (double& number : sum) number *= decay;
        }
        const std::size_t k = to_size(next - window.begin);
        for (std::int64_t c = 0; c < p; ++c) {
          out[position * p + c] -= weight * elements.carry[k] * sum[to_size(c)];
          sum[to_size(c)] = elements.decay[k] * sum[to_size(c)] +
                            elements.head[k] * in[position * p + c];
        }
        --place;
      }
    }
  }
  return result.to(latents.device());
}

Array MarkovTime::pairs_parameter_gradient(const Array& parameters, const Array& rows,
                                           const Array& latents) const {
  const Array batch = on_cpu(checked_latents(parameters, latents, rows.size(0)));
  const auto all = settings(parameters);
  const std::int64_t b = batch.size(1), p = batch.size(2);
  const double weight = pair_weight(b);
  const double scale = static_cast<double>(this->rows()) / static_cast<double>(b);
  Array result = nd::empty({batch.size(0), parameter_count()}, nd::kDouble);
  for (std::int64_t r = 0; r < batch.size(0); ++r) {
    const Setting& setting = all[to_size(r)];
    const double* in = batch.data_ptr<double>() + r * b * p;
    Sensitive trace;
    for (const Window& window : windows(setting, rows)) {
      const auto elements = precision_elements<Sensitive>(
          setting.own_share, setting.decay_rate, gap_after_.data() + window.begin,
          window.end - window.begin);
      std::vector<Sensitive> sum(to_size(p));
      std::int64_t place = window.wanted.front().first;
      for (const auto& [next, position] : window.wanted) {
        for (; place < next; ++place) {
          const Sensitive& decay = elements.decay[to_size(place - window.begin)];
          for (Sensitive& number : sum) number = number * decay;
        }
        const std::size_t k = to_size(next - window.begin);
        for (std::int64_t c = 0; c < p; ++c) {
          const double u = in[position * p + c];
          Sensitive& before = sum[to_size(c)];
          trace += elements.diagonal[k] * (u * u) +
                   elements.head[k] * before * (2 * weight * u);
          before = elements.decay[k] * before - elements.carry[k] * u;
        }
        ++place;
      }
    }
    KalmanFilter<Sensitive> filter(setting.own_share, setting.decay_rate);
    Sensitive log_det;
    for (const double gap : gap_after_) {
      const Sensitive variance = filter.step(gap).variance;
      log_det.by_share += variance.by_share / variance.value;
      log_det.by_rate += variance.by_rate / variance.value;
    }
    double* out = result.data_ptr<double>() + r * parameter_count();
    const auto columns = static_cast<double>(p);
    out[0] = 0.5 * (columns * log_det.by_share + scale * trace.by_share);
    if (parameter_count() > 1) {
      out[1] = 0.5 * (columns * log_det.by_rate + scale * trace.by_rate);
    }
  }
  return result.to(parameters.device());
}

Array MarkovTime::default_parameters() const {
  Array result = Dependence::default_parameters();
  if (options_.decay_rate) return result;
  result[1] = 1 / mean_gap(times_);
  return result;
}

Array MarkovTime::sample(const Array& parameters, std::int64_t columns,
                         Random& random) const {
  const Setting setting = settings(checked_one_replica(parameters).unsqueeze(0))[0];
  const Array own = normal_numbers({rows(), columns}, random);
  const Array common = normal_numbers({rows(), columns}, random);
  Array draw = nd::empty({rows(), columns}, nd::kDouble);
  const double own_scale = std::sqrt(setting.own_share);
  // The state has variance 1 while it moves, and is scaled when it is seen.
  const double state_scale = std::sqrt(1 - setting.own_share);
  std::vector<double> state(to_size(columns), 0);
  double kept = 0, fresh = 1;
  for (std::int64_t k = 0; k < rows(); ++k) {
    const std::int64_t row = row_at_[to_size(k)];
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t at_c = row * columns + c;
      double& now = state[to_size(c)];
      now = kept * now + fresh * common.data_ptr<double>()[at_c];
      draw.data_ptr<double>()[at_c] =
          state_scale * now + own_scale * own.data_ptr<double>()[at_c];
    }
    const double distance = setting.decay_rate * gap_after_[to_size(k)];
    kept = std::exp(-distance);
    fresh = std::sqrt(-std::expm1(-2 * distance));
  }
  return draw;
}

Array MarkovTime::covariance(const Array& parameters) const {
  const Array one = checked_one_replica(parameters);
  const Setting setting = settings(one.unsqueeze(0))[0];
  const Array distance = (times_.unsqueeze(0) - times_.unsqueeze(1)).abs();
  const Array common = (1 - setting.own_share) * (-setting.decay_rate * distance).exp();
  return (common + setting.own_share * nd::eye(rows(), nd::kDouble))
      .unsqueeze(0)
      .to(one.device());
}

Array MarkovTime::common_covariance_times(const Setting& setting,
                                          const Array& x) const {
  const std::int64_t c = x.size(1);
  Array result = x.clone();
  // Sums over the rows before, then over the rows after.
  std::vector<double> sum(to_size(c), 0);
  const auto pass = [&](std::int64_t place, double gap) {
    const double kept = std::exp(-setting.decay_rate * gap);
    const std::int64_t row = row_at_[to_size(place)];
    const double* in = x.data_ptr<double>() + row * c;
    double* out = result.data_ptr<double>() + row * c;
    for (std::int64_t j = 0; j < c; ++j) {
      out[j] += sum[to_size(j)];
      sum[to_size(j)] = kept * (sum[to_size(j)] + in[j]);
    }
  };
  for (std::int64_t k = 0; k < rows(); ++k) pass(k, gap_after_[to_size(k)]);
  std::fill(sum.begin(), sum.end(), 0);
  for (std::int64_t k = rows() - 1; k >= 0; --k) {
    pass(k, k > 0 ? gap_after_[to_size(k - 1)] : 0);
  }
  return (1 - setting.own_share) * result;
}

Array MarkovTime::regress(const Array& parameters, const Array& observed,
                          const Array& values) const {
  Array x = nd::zeros({rows(), values.size(1)}, nd::kDouble);
  if (observed.size(0) == 0) return x;
  const MarkovTime seen(times_.index_select(0, observed), options_);
  x.index_copy_(
      0, observed,
      seen.precision_times(parameters.unsqueeze(0), values.unsqueeze(0)).squeeze(0));
  return common_covariance_times(settings(parameters.unsqueeze(0))[0], x);
}

ConditionalLaw MarkovTime::condition(const Array& parameters, const Array& observed,
                                     const Array& latents) const {
  const Array unknown = checked_unknown_rows(observed, latents).cpu();
  const Array one = on_cpu(checked_one_replica(parameters));
  const Array seen = observed.cpu();
  const Array mean = regress(one, seen, on_cpu(latents)).index_select(0, unknown);
  const double rate = settings(one.unsqueeze(0))[0].decay_rate;
  const Array time = times_.index_select(0, unknown).unsqueeze(0);
  const auto common_with_unknown = [&](const Array& other) {
    return (1 - one[0]) * (-rate * (other.unsqueeze(1) - time).abs()).exp();
  };
  const Array explained =
      regress(one, seen, common_with_unknown(times_.index_select(0, seen)))
          .index_select(0, unknown);
  const Array own = one.narrow(0, 0, 1).expand({unknown.size(0)});
  const Array covariance =
      common_with_unknown(time.squeeze(0)) + nd::diag(own) - explained;
  const nd::Device device = latents.device();
  return {unknown.to(device), mean.to(device), covariance.unsqueeze(0).to(device)};
}

Array MarkovTime::state_variances(const Setting& setting, const Array& observed) const {
  const std::int64_t n = rows();
  Array is_seen = nd::zeros({n}, nd::kBool).index_fill_(0, observed, true);
  const auto pass = [&](KalmanFilter<double>& filter, std::int64_t row, double gap) {
    const double predicted = filter.predicted();
    if (is_seen.data_ptr<bool>()[row]) {
      filter.step(gap);
    } else {
      filter.skip(gap);
    }
    return predicted;
  };
  Array result = nd::empty({n}, nd::kDouble);
  KalmanFilter<double> forward(setting.own_share, setting.decay_rate);
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t row = row_at_[to_size(k)];
    result.data_ptr<double>()[row] = pass(forward, row, gap_after_[to_size(k)]);
  }
  // What the rows before and the rows after say is independent given the state: their
  // precisions add up, and the state's own, which both count, counts once.
  const double own = 1 - setting.own_share;
  KalmanFilter<double> backward(setting.own_share, setting.decay_rate);
  for (std::int64_t k = n - 1; k >= 0; --k) {
    const std::int64_t row = row_at_[to_size(k)];
    double& before = result.data_ptr<double>()[row];
    const double after = pass(backward, row, k > 0 ? gap_after_[to_size(k - 1)] : 0);
    before = before / (1 + before / after * ((own - after) / own));
  }
  return result;
}

ConditionalRows MarkovTime::condition_rows(const Array& parameters,
                                           const Array& observed,
                                           const Array& latents) const {
  const Array unknown = checked_unknown_rows(observed, latents);
  const Array one = on_cpu(checked_one_replica(parameters));
  const Array seen = observed.cpu();
  const Setting setting = settings(one.unsqueeze(0))[0];
  const Array mean = regress(one, seen, on_cpu(latents));
  const Array variance = state_variances(setting, seen) + setting.own_share;
  const nd::Device device = latents.device();
  return {unknown, mean.to(device).index_select(0, unknown),
          variance.to(device).index_select(0, unknown).unsqueeze(1)};
}

Array MarkovTime::sample_given(const Array& parameters, const Array& observed,
                               const Array& latents, Random& random) const {
  // As in the base class: a draw, corrected by the regression on what it has wrong.
  checked_unknown_rows(observed, latents);
  const Array one = on_cpu(checked_one_replica(parameters));
  const Array seen = observed.cpu();
  const Array known = on_cpu(latents);
  Array draw = sample(one, known.size(1), random);
  draw += regress(one, seen, known - draw.index_select(0, seen));
  return draw.index_copy_(0, seen, known);
}

}  // namespace kinflow
