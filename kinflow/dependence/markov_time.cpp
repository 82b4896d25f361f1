// Exponential decay in time: likelihood, gradients and estimators by Kalman filters.
#include "kinflow/dependence/markov_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/size.h"
#include "kinflow/dependence/kalman_filter.h"

namespace kinflow {
namespace {

/// Influence below this is left out of a window.
constexpr double kNoInfluence = 1e-18;

}  // namespace

/// Keeps the latents in order of time.
class MarkovTime::Memory final : public LatentMemory {
 public:
  explicit Memory(const MarkovTime& law) : LatentMemory(law.rows()), law_(law) {}

  void reset(const Array& latents) override {
    LatentMemory::reset(latents);
    ordered_ = law_.in_order(on_cpu(latents_));
    stretch_ = 0;
  }

  void update(const Array& rows, const Array& latents) override {
    exchange_rows(rows, latents);
    const Array fresh = on_cpu(latents_.index_select(1, rows));
    const Array row = rows.cpu().contiguous();
    const std::int64_t p = fresh.size(2);
    const double* in = fresh.data_ptr<double>();
    for (std::int64_t r = 0; r < fresh.size(0); ++r) {
      for (std::int64_t j = 0; j < row.size(0); ++j, in += p) {
        const auto place = law_.place_of_row_[to_size(row.data_ptr<std::int64_t>()[j])];
        std::copy(in, in + p, ordered_.data_ptr<double>() + (r * rows_ + place) * p);
      }
    }
    stretch_ = (stretch_ + 1) % stretch_count();
  }

  Array precision_rows(const Array& parameters, const Array& rows) const override {
    const auto settings = law_.settings(parameters);
    const std::int64_t p = ordered_.size(2);
    Array result = nd::empty({ordered_.size(0), rows.size(0), p}, nd::kDouble);
    std::vector<double> solved;
    for (std::int64_t r = 0; r < ordered_.size(0); ++r) {
      const double* in = ordered_.data_ptr<double>() + r * rows_ * p;
      double* out = result.data_ptr<double>() + r * rows.size(0) * p;
      for (const Window& window : law_.windows(settings[to_size(r)], rows)) {
        solved.assign(in + window.begin * p, in + window.end * p);
        law_.solve(settings[to_size(r)], window.begin, window.end, solved.data(), p);
        for (const auto& [place, position] : window.wanted) {
          std::copy_n(solved.data() + (place - window.begin) * p, p,
                      out + position * p);
        }
      }
    }
    return result.to(latents_.device());
  }

  Array parameter_gradient(const Array& parameters) const override {
    const auto settings = law_.settings(parameters);
    const std::int64_t p = ordered_.size(2);
    const std::int64_t counted = rows_ * stretch_ / stretch_count();
    const std::int64_t end = rows_ * (stretch_ + 1) / stretch_count();
    Array result = nd::zeros({ordered_.size(0), law_.parameter_count()}, nd::kDouble);
    for (std::int64_t r = 0; r < ordered_.size(0); ++r) {
      const Setting& setting = settings[to_size(r)];
      const std::int64_t begin = law_.first_influence(setting, counted, 0);
      law_.add_gradient(setting, begin, counted, end,
                        ordered_.data_ptr<double>() + (r * rows_ + begin) * p, p,
                        result.data_ptr<double>() + r * result.size(1));
    }
    return (result * static_cast<double>(stretch_count())).to(latents_.device());
  }

 private:
  std::int64_t stretch_count() const {
    return (rows_ + law_.options_.stretch_rows - 1) / law_.options_.stretch_rows;
  }

  const MarkovTime& law_;
  Array ordered_;  // [R, n, p] float64, in order of time
  std::int64_t stretch_ = 0;
};

MarkovTime::MarkovTime(const Array& times, MarkovTimeOptions options)
    : options_(options) {
  if (options.decay_rate &&
      !(*options.decay_rate > 0 && std::isfinite(*options.decay_rate))) {
    throw InputError(
        fmt::format("[MarkovTime] expected a positive decay rate, received {}",
                    *options.decay_rate));
  }
  if (options.stretch_rows < 1) {
    throw InputError(
        fmt::format("[MarkovTime] expected stretches of at least 1 row, received {}",
                    options.stretch_rows));
  }
  times_ = on_cpu(checked_times(times, "MarkovTime"));
  const double* time = times_.data_ptr<double>();
  const std::int64_t n = times_.size(0);
  row_at_.resize(to_size(n));
  std::iota(row_at_.begin(), row_at_.end(), 0);
  std::stable_sort(row_at_.begin(), row_at_.end(),
                   [&](std::int64_t i, std::int64_t j) { return time[i] < time[j]; });
  place_of_row_.resize(to_size(n));
  gap_after_.assign(to_size(n), 0);
  for (std::int64_t k = 0; k < n; ++k) {
    place_of_row_[to_size(row_at_[to_size(k)])] = k;
    if (k + 1 == n) break;
    gap_after_[to_size(k)] = time[row_at_[to_size(k + 1)]] - time[row_at_[to_size(k)]];
  }
}

std::vector<MarkovTime::Setting> MarkovTime::settings(const Array& parameters) const {
  const Array checked = on_cpu(checked_parameters(parameters));
  std::vector<Setting> result;
  for (std::int64_t r = 0; r < checked.size(0); ++r) {
    const double* numbers = checked.data_ptr<double>() + r * parameter_count();
    result.push_back(
        {numbers[0], options_.decay_rate ? *options_.decay_rate : numbers[1]});
  }
  return result;
}

Array MarkovTime::in_order(const Array& latents) const {
  const auto order =
      nd::from_blob(const_cast<std::int64_t*>(row_at_.data()), {rows()}, nd::kLong);
  return latents.index_select(1, order);
}

std::int64_t MarkovTime::first_influence(const Setting& setting, std::int64_t place,
                                         std::int64_t stop) const {
  // The process looks the same backwards: a filter that runs back from the row forgets
  // it as fast as earlier rows lose their influence on it.
  KalmanFilter<double> filter(setting.own_share, setting.decay_rate);
  double influence = 1 / setting.own_share;
  while (place > stop && influence > kNoInfluence) {
    influence *= filter.step(gap_after_[to_size(--place)]).decay;
  }
  return place;
}

std::int64_t MarkovTime::last_influence(const Setting& setting, std::int64_t place,
                                        std::int64_t stop) const {
  KalmanFilter<double> filter(setting.own_share, setting.decay_rate);
  double influence = 1 / setting.own_share;
  while (place + 1 < stop && influence > kNoInfluence) {
    influence *= filter.step(gap_after_[to_size(place++)]).decay;
  }
  return place + 1;
}

std::vector<MarkovTime::Window> MarkovTime::windows(const Setting& setting,
                                                    const Array& rows) const {
  const Array row = rows.cpu().contiguous();
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  for (std::int64_t j = 0; j < row.size(0); ++j) {
    places.emplace_back(place_of_row_[to_size(row.data_ptr<std::int64_t>()[j])], j);
  }
  std::sort(places.begin(), places.end());
  std::vector<Window> result;
  for (const auto& wanted : places) {
    const std::int64_t place = wanted.first;
    if (!result.empty()) {
      // The search for influence stops where the windows would meet.
      Window& last = result.back();
      last.end = last_influence(setting, last.wanted.back().first, place + 1);
      if (last.end < place + 1) {
        const std::int64_t begin = first_influence(setting, place, last.end);
        if (begin > last.end) {
          result.push_back({begin, place + 1, {wanted}});
          continue;
        }
      }
      last.end = place + 1;
      last.wanted.push_back(wanted);
      continue;
    }
    result.push_back({first_influence(setting, place, 0), place + 1, {wanted}});
  }
  if (!result.empty()) {
    Window& last = result.back();
    last.end = last_influence(setting, last.wanted.back().first, this->rows());
  }
  return result;
}

void MarkovTime::solve(const Setting& setting, std::int64_t begin, std::int64_t end,
                       double* latents, std::int64_t columns) const {
  const std::int64_t p = columns;
  std::vector<double> carry(to_size(end - begin)), decay(to_size(end - begin));
  std::vector<double> predicted(to_size(p), 0), later(to_size(p), 0);
  KalmanFilter<double> filter(setting.own_share, setting.decay_rate);
  double* row = latents;
  for (std::int64_t k = 0; k < end - begin; ++k, row += p) {
    const auto step = filter.step(gap_after_[to_size(begin + k)]);
    carry[to_size(k)] = step.carry;
    decay[to_size(k)] = step.decay;
    const double inverse = 1 / step.variance;
    for (std::int64_t c = 0; c < p; ++c) {
      const double surprise = row[c] - predicted[to_size(c)];
      predicted[to_size(c)] =
          step.transition * (predicted[to_size(c)] + step.gain * surprise);
      row[c] = surprise * inverse;
    }
  }
  for (std::int64_t k = end - begin - 1; k >= 0; --k) {
    row -= p;
    for (std::int64_t c = 0; c < p; ++c) {
      const double scaled = row[c];
      row[c] = scaled - carry[to_size(k)] * later[to_size(c)];
      later[to_size(c)] = scaled + decay[to_size(k)] * later[to_size(c)];
    }
  }
}

void MarkovTime::add_gradient(const Setting& setting, std::int64_t begin,
                              std::int64_t counted, std::int64_t end,
                              const double* latents, std::int64_t columns,
                              double* gradient) const {
  const std::int64_t p = columns;
  // The prediction of each column and its two derivatives.
  std::vector<double> predicted(to_size(p), 0), by_share(to_size(p), 0),
      by_rate(to_size(p), 0);
  KalmanFilter<Sensitive> filter(setting.own_share, setting.decay_rate);
  double share_slope = 0, rate_slope = 0;
  const double* row = latents;
  for (std::int64_t k = begin; k < end; ++k, row += p) {
    const auto step = filter.step(gap_after_[to_size(k)]);
    double square = 0, share_product = 0, rate_product = 0;
    for (std::int64_t c = 0; c < p; ++c) {
      const double a = predicted[to_size(c)];
      const double a_share = by_share[to_size(c)], a_rate = by_rate[to_size(c)];
      const double surprise = row[c] - a;
      square += surprise * surprise;
      share_product += surprise * a_share;
      rate_product += surprise * a_rate;
      const double filtered = a + step.gain.value * surprise;
      predicted[to_size(c)] = step.transition.value * filtered;
      by_share[to_size(c)] = step.decay.value * a_share +
                             step.transition.value * step.gain.by_share * surprise;
      by_rate[to_size(c)] = step.decay.value * a_rate +
                            step.transition.value * step.gain.by_rate * surprise +
                            step.transition.by_rate * filtered;
    }
    if (k < counted) continue;
    const double inverse = 1 / step.variance.value;
    const double spread = static_cast<double>(p) - square * inverse;
    share_slope += (0.5 * spread * step.variance.by_share - share_product) * inverse;
    rate_slope += (0.5 * spread * step.variance.by_rate - rate_product) * inverse;
  }
  gradient[0] += share_slope;
  if (parameter_count() > 1) gradient[1] += rate_slope;
}

MarkovTime::Sums MarkovTime::sums(const Setting& setting, const double* latents,
                                  std::int64_t columns) const {
  KalmanFilter<double> filter(setting.own_share, setting.decay_rate);
  std::vector<double> predicted(to_size(columns), 0);
  Sums result{0, 0};
  // One logarithm for the product of a few variances, each between 1e-9 and 1.
  double product = 1;
  int factors = 0;
  const double* row = latents;
  for (std::int64_t k = 0; k < rows(); ++k, row += columns) {
    const auto step = filter.step(gap_after_[to_size(k)]);
    product *= step.variance;
    if (++factors == 16) {
      result.log_det += std::log(product);
      product = 1;
      factors = 0;
    }
    double square = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
      const double surprise = row[c] - predicted[to_size(c)];
      square += surprise * surprise;
      predicted[to_size(c)] =
          step.transition * (predicted[to_size(c)] + step.gain * surprise);
    }
    result.quadratic += square / step.variance;
  }
  result.log_det += std::log(product);
  return result;
}

Array MarkovTime::log_det(const Array& parameters) const {
  const auto all = settings(parameters);
  Array result = nd::empty({static_cast<std::int64_t>(all.size())}, nd::kDouble);
  for (std::size_t r = 0; r < all.size(); ++r) {
    result.data_ptr<double>()[r] = sums(all[r], nullptr, 0).log_det;
  }
  return result.to(parameters.device());
}

Array MarkovTime::precision_times(const Array& parameters, const Array& latents) const {
  const auto all = settings(parameters);
  Array solved =
      in_order(on_cpu(checked_latents(parameters, latents, rows()))).contiguous();
  const std::int64_t p = solved.size(2);
  for (std::size_t r = 0; r < all.size(); ++r) {
    solve(all[r], 0, rows(),
          solved.data_ptr<double>() + static_cast<std::int64_t>(r) * rows() * p, p);
  }
  const auto place = nd::from_blob(const_cast<std::int64_t*>(place_of_row_.data()),
                                   {rows()}, nd::kLong);
  return solved.index_select(1, place).to(latents.device());
}

Array MarkovTime::quadratic(const Array& parameters, const Array& latents) const {
  const auto all = settings(parameters);
  const Array ordered = in_order(on_cpu(checked_latents(parameters, latents, rows())));
  Array result = nd::empty({ordered.size(0)}, nd::kDouble);
  for (std::int64_t r = 0; r < ordered.size(0); ++r) {
    result.data_ptr<double>()[r] =
        sums(all[to_size(r)], ordered[r].data_ptr<double>(), ordered.size(2)).quadratic;
  }
  return result.to(latents.device());
}

Array MarkovTime::parameter_gradient(const Array& parameters,
                                     const Array& latents) const {
  const auto all = settings(parameters);
  const Array ordered = in_order(on_cpu(checked_latents(parameters, latents, rows())));
  const std::int64_t p = ordered.size(2);
  Array result = nd::zeros({ordered.size(0), parameter_count()}, nd::kDouble);
  for (std::int64_t r = 0; r < ordered.size(0); ++r) {
    add_gradient(all[to_size(r)], 0, 0, rows(),
                 ordered.data_ptr<double>() + r * rows() * p, p,
                 result.data_ptr<double>() + r * parameter_count());
  }
  return result.to(parameters.device());
}

std::unique_ptr<LatentMemory> MarkovTime::make_memory() const {
  return std::make_unique<Memory>(*this);
}

}  // namespace kinflow
