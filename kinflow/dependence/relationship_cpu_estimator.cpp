// Two passes over the batch's rows of Q: one rotates what is new into the eigenvectors'
// coordinates, one gives the rows of C^-1 U from there.
#include "kinflow/dependence/relationship_cpu_estimator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/workers.h"
#include "kinflow/dependence/row_matrix.h"

namespace kinflow {
namespace {

// Coordinates and rows that one thread takes at once.
constexpr std::int64_t kCoordinates = 256;
constexpr std::int64_t kRowsAtOnce = 32;
// Rows whose products are added in the latents' own type.
constexpr std::int64_t kSummedRows = 256;

// Lambda of one replica, and the parts of C^-1 and of its derivative in lambda that are
// multiples of I; the others are diagonal in the eigenvectors' coordinates.
struct Share {
  double lambda;
  double outside, slope_outside;  // 0 where Q is complete

  Share(double value, bool is_complete)
      : lambda(value),
        outside(is_complete ? 0 : 1 / value),
        slope_outside(is_complete ? 0 : -1 / (value * value)) {}
};

// What the coordinates add to the gradient in lambda of one replica.
struct GradientSums {
  double log_det_slope = 0;
  double remembered_slope = 0, remembered_square = 0;  // of the memory
  double pairs_slope = 0;                              // of the batch
};

template <typename Real>
class CpuEstimator final : public BatchEstimator {
 public:
  CpuEstimator(const Relationship& relationship,
               const std::vector<EstimatorChoice>& choices)
      : matrix_(relationship.eigenvectors().data_ptr<double>(), relationship.rows(),
                relationship.rank()),
        choices_(choices),
        replicas_(static_cast<std::int64_t>(choices.size())),
        n_(relationship.rows()),
        rank_(relationship.rank()),
        blocks_((matrix_.stride() + kCoordinates - 1) / kCoordinates),
        eigenvalues_(relationship.eigenvalues().data_ptr<double>(),
                     relationship.eigenvalues().data_ptr<double>() + rank_),
        needs_(choices) {}

  void reset(const Array& latents) override {
    if (!needs_.memory) return;
    latents_ = latents.to(nd::CppTypeToScalarType<Real>::value).clone();
    columns_ = latents_.size(2);
    const std::int64_t width = replicas_ * columns_;
    const auto x = side_by_side(latents_);
    std::vector<std::int64_t> all(static_cast<std::size_t>(n_));
    std::iota(all.begin(), all.end(), 0);
    rotated_.assign(static_cast<std::size_t>(width * matrix_.stride()), 0);
    shared_workers().run(blocks_, [&](std::int64_t block, std::int64_t /*thread*/) {
      const auto sums = rotate(block, all.data(), n_, x.data(), width);
      const auto [begin, end] = bounds(block);
      for (std::int64_t c = 0; c < width; ++c) {
        std::copy_n(sums.data() + c * (end - begin), end - begin,
                    rotated_.data() + c * matrix_.stride() + begin);
      }
    });
    total_squares_ = squares_of(latents_.template data_ptr<Real>(), n_ * columns_);
  }

  const Array& latents() const override { return latents_; }
  bool uses_own_team() const override { return true; }

  Array precision_rows(const Array& parameters, const Array& rows,
                       const Array& latents) override {
    check(parameters, rows, latents);
    const auto own =
        latents.detach().to(nd::CppTypeToScalarType<Real>::value).contiguous();
    columns_ = own.size(2);
    batch_ = rows.size(0);
    const auto* numbers = own.template data_ptr<Real>();
    const auto places = rows.contiguous();
    const auto* place = places.data_ptr<std::int64_t>();
    take_parameters(parameters);
    const auto x = remember(place, numbers, own);
    const std::int64_t width = replicas_ * columns_;
    const std::int64_t stride = matrix_.stride();
    const std::int64_t functions =
        needs_.pairs ? replicas_ * (needs_.pairs_gradient ? 2 : 1) : 0;
    products_.resize(static_cast<std::size_t>(width * stride));
    functions_.resize(static_cast<std::size_t>(functions * stride));
    sums_.assign(static_cast<std::size_t>(blocks_ * replicas_), {});
    shared_workers().run(blocks_, [&](std::int64_t block, std::int64_t /*thread*/) {
      const auto rotated = rotate(block, place, batch_, x.data(),
                                  static_cast<std::int64_t>(x.size()) / batch_);
      for (std::int64_t r = 0; r < replicas_; ++r) combine(block, r, rotated.data());
    });
    batch_squares_ = squares_of(numbers, batch_ * columns_);
    diagonal_slopes_.assign(static_cast<std::size_t>(batch_ * replicas_), 0);
    auto result = nd::empty_like(own);
    auto* to = result.template data_ptr<Real>();
    const std::int64_t parts = (batch_ + kRowsAtOnce - 1) / kRowsAtOnce;
    shared_workers().run(parts, [&](std::int64_t part, std::int64_t /*thread*/) {
      multiply(part * kRowsAtOnce, std::min(batch_, (part + 1) * kRowsAtOnce), place,
               functions, numbers, to);
    });
    gather_diagonal(numbers);
    return result;
  }

  Array parameter_gradient(const Array& /*parameters*/) override {
    auto result = nd::zeros({replicas_, 1}, nd::kDouble);
    const double scale = static_cast<double>(n_) / static_cast<double>(batch_);
    const double weight = pair_weight();
    for (std::int64_t r = 0; r < replicas_; ++r) {
      const auto& choice = choices_[static_cast<std::size_t>(r)];
      if (!choice.moves_parameters) continue;
      const auto& share = shares_[static_cast<std::size_t>(r)];
      GradientSums total;
      for (std::int64_t block = 0; block < blocks_; ++block) {
        const auto& sums = sums_[static_cast<std::size_t>(block * replicas_ + r)];
        total.log_det_slope += sums.log_det_slope;
        total.remembered_slope += sums.remembered_slope;
        total.remembered_square += sums.remembered_square;
        total.pairs_slope += sums.pairs_slope;
      }
      const double log_det_slope =
          total.log_det_slope + static_cast<double>(n_ - rank_) / share.lambda;
      double trace_slope = 0;
      if (choice.needs_memory) {
        const double rest = std::max(
            0.0, total_squares_[static_cast<std::size_t>(r)] - total.remembered_square);
        trace_slope = total.remembered_slope + share.slope_outside * rest;
      } else {
        const double square = batch_squares_[static_cast<std::size_t>(r)];
        trace_slope =
            scale * (weight * (total.pairs_slope + share.slope_outside * square) +
                     (1 - weight) * (diagonal_slopes_[static_cast<std::size_t>(r)] +
                                     share.slope_outside * square));
      }
      result.data_ptr<double>()[r] =
          0.5 * (static_cast<double>(columns_) * log_det_slope + trace_slope);
    }
    return result;
  }

 private:
  void check(const Array& parameters, const Array& rows, const Array& latents) const {
    const bool is_sound =
        parameters.dim() == 2 && parameters.size(0) == replicas_ &&
        parameters.size(1) == 1 && rows.dim() == 1 && rows.size(0) > 0 &&
        latents.dim() == 3 && latents.size(0) == replicas_ &&
        latents.size(1) == rows.size(0) &&
        (!needs_.memory || (latents_.defined() && latents_.size(2) == latents.size(2)));
    if (is_sound) return;
    throw InputError(fmt::format(
        "[Relationship] expected parameters [{}, 1] and latents [{}, b, p] for rows "
        "[b], after a reset() where latents are remembered; received others",
        replicas_, replicas_));
  }

  std::pair<std::int64_t, std::int64_t> bounds(std::int64_t block) const {
    return {block * kCoordinates,
            std::min(matrix_.stride(), (block + 1) * kCoordinates)};
  }

  double pair_weight() const {
    return batch_ < 2 ? 0
                      : static_cast<double>(n_ - 1) / static_cast<double>(batch_ - 1);
  }

  void take_parameters(const Array& parameters) {
    const auto values = parameters.to(nd::kDouble).contiguous();
    shares_.clear();
    for (std::int64_t r = 0; r < replicas_; ++r) {
      shares_.emplace_back(values.data_ptr<double>()[r], rank_ == n_);
    }
  }

  // Latents [R, b, p] as [b][R p].
  AlignedVector<Real> side_by_side(const Array& latents) const {
    const auto wide = latents.transpose(0, 1).contiguous();
    const auto* from = wide.template data_ptr<Real>();
    return AlignedVector<Real>(from, from + wide.numel());
  }

  std::vector<double> squares_of(const Real* latents, std::int64_t size) const {
    std::vector<double> squares(static_cast<std::size_t>(replicas_), 0);
    for (std::int64_t r = 0; r < replicas_; ++r) {
      for (std::int64_t i = 0; i < size; ++i) {
        const double value = latents[r * size + i];
        squares[static_cast<std::size_t>(r)] += value * value;
      }
    }
    return squares;
  }

  // Takes the batch into the memory. Gives the columns to rotate, [b][width]: what
  // changed in the memory and the batch's own latents, each where it is needed.
  AlignedVector<Real> remember(const std::int64_t* rows, const Real* latents,
                               const Array& tensor) {
    if (!needs_.memory) return side_by_side(tensor);
    const std::int64_t side = replicas_ * columns_;
    const std::int64_t width = needs_.pairs ? 2 * side : side;
    AlignedVector<Real> x(static_cast<std::size_t>(batch_ * width));
    for (std::int64_t r = 0; r < replicas_; ++r) {
      auto* remembered = latents_.template data_ptr<Real>() + r * n_ * columns_;
      for (std::int64_t i = 0; i < batch_; ++i) {
        for (std::int64_t c = 0; c < columns_; ++c) {
          const Real value = latents[(r * batch_ + i) * columns_ + c];
          Real& before = remembered[rows[i] * columns_ + c];
          Real* to = x.data() + i * width + r * columns_ + c;
          to[0] = value - before;
          if (needs_.pairs) to[side] = value;
          total_squares_[static_cast<std::size_t>(r)] +=
              (static_cast<double>(value) - before) *
              (static_cast<double>(value) + before);
          before = value;
        }
      }
    }
    return x;
  }

  // Some coordinates of Q'X, [width][coordinates]. @param x [count][width]
  std::vector<double> rotate(std::int64_t block, const std::int64_t* rows,
                             std::int64_t count, const Real* x,
                             std::int64_t width) const {
    const auto [begin, end] = bounds(block);
    const auto size = static_cast<std::size_t>(width * (end - begin));
    std::vector<double> total(size, 0);
    AlignedVector<Real> part(size);
    for (std::int64_t first = 0; first < count; first += kSummedRows) {
      std::fill(part.begin(), part.end(), Real(0));
      matrix_.products().add_transposed(
          matrix_.rows(rows + first, std::min(kSummedRows, count - first)), begin, end,
          x + first * width, width, part.data());
      for (std::size_t i = 0; i < size; ++i) total[i] += part[i];
    }
    return total;
  }

  // From the rotated columns of one replica: the memory's new coordinates, those of
  // what the batch's rows are products with, and sums for the gradient.
  void combine(std::int64_t block, std::int64_t r, const double* rotated) {
    const auto [begin, end] = bounds(block);
    const std::int64_t length = end - begin, stride = matrix_.stride();
    const auto& choice = choices_[static_cast<std::size_t>(r)];
    const Share share = shares_[static_cast<std::size_t>(r)];
    const double memory = choice.memory_share;
    const double pairs = (1 - memory) * pair_weight();
    const double* change = rotated + r * columns_ * length;
    const double* own =
        rotated + ((needs_.memory ? replicas_ : 0) + r) * columns_ * length;
    GradientSums sums;
    for (std::int64_t j = begin; j < end; ++j) {
      const bool is_padding = j >= rank_;
      const double value = is_padding ? 1 : eigenvalues_[static_cast<std::size_t>(j)];
      const double inverse = 1 / (share.lambda + (1 - share.lambda) * value);
      const double slope = (value - 1) * inverse * inverse;
      const double inside = (share.outside == 0)
                                ? inverse
                                : (share.lambda - 1) * value * inverse * share.outside;
      double remembered_square = 0, own_square = 0;
      for (std::int64_t c = 0; c < columns_; ++c) {
        double sum = 0;
        if (needs_.memory) {
          double& coordinate =
              rotated_[static_cast<std::size_t>((r * columns_ + c) * stride + j)];
          coordinate += change[c * length + j - begin];
          remembered_square += coordinate * coordinate;
          sum += memory * coordinate;
        }
        if (needs_.pairs) {
          const double coordinate = own[c * length + j - begin];
          own_square += coordinate * coordinate;
          sum += pairs * coordinate;
        }
        products_[static_cast<std::size_t>((r * columns_ + c) * stride + j)] =
            static_cast<Real>(inside * sum);
      }
      if (needs_.pairs) {
        functions_[static_cast<std::size_t>(r * stride + j)] =
            static_cast<Real>(inside);
      }
      const double slope_inside = slope - share.slope_outside;
      if (needs_.pairs_gradient) {
        functions_[static_cast<std::size_t>((replicas_ + r) * stride + j)] =
            static_cast<Real>(slope_inside);
      }
      sums.log_det_slope += (1 - value) * inverse;
      sums.remembered_slope += slope * remembered_square;
      sums.remembered_square += remembered_square;
      sums.pairs_slope += slope_inside * own_square;
    }
    sums_[static_cast<std::size_t>(block * replicas_ + r)] = sums;
  }

  // Rows [first, last) of the batch.
  void multiply(std::int64_t first, std::int64_t last, const std::int64_t* rows,
                std::int64_t functions, const Real* latents, Real* result) {
    const std::int64_t count = last - first, width = replicas_ * columns_;
    std::vector<double> products(static_cast<std::size_t>(count * width));
    std::vector<double> squares(static_cast<std::size_t>(count * functions));
    matrix_.products().multiply(matrix_.rows(rows + first, count), products_.data(),
                                width, products.data(), functions_.data(), functions,
                                squares.data());
    const double weight = pair_weight();
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t r = 0; r < replicas_; ++r) {
        const auto& choice = choices_[static_cast<std::size_t>(r)];
        double own = shares_[static_cast<std::size_t>(r)].outside;
        if (functions > 0) {
          own += (1 - choice.memory_share) * (1 - weight) *
                 squares[static_cast<std::size_t>(i * functions + r)];
        }
        if (needs_.pairs_gradient) {
          diagonal_slopes_[static_cast<std::size_t>((first + i) * replicas_ + r)] =
              squares[static_cast<std::size_t>(i * functions + replicas_ + r)];
        }
        for (std::int64_t c = 0; c < columns_; ++c) {
          const std::int64_t place = (r * batch_ + first + i) * columns_ + c;
          result[place] = static_cast<Real>(
              products[static_cast<std::size_t>(i * width + r * columns_ + c)] +
              own * latents[place]);
        }
      }
    }
  }

  // Turns the rows' diagonal elements of the slope into their sums over the batch,
  // weighted by the latents' squares.
  void gather_diagonal(const Real* latents) {
    if (!needs_.pairs_gradient) return;
    std::vector<double> totals(static_cast<std::size_t>(replicas_), 0);
    for (std::int64_t r = 0; r < replicas_; ++r) {
      for (std::int64_t i = 0; i < batch_; ++i) {
        double square = 0;
        for (std::int64_t c = 0; c < columns_; ++c) {
          const double value = latents[(r * batch_ + i) * columns_ + c];
          square += value * value;
        }
        totals[static_cast<std::size_t>(r)] +=
            square * diagonal_slopes_[static_cast<std::size_t>(i * replicas_ + r)];
      }
    }
    diagonal_slopes_ = totals;
  }

  RowMatrix<Real> matrix_;  // Q
  std::vector<EstimatorChoice> choices_;
  std::int64_t replicas_, n_, rank_, blocks_;
  std::vector<double> eigenvalues_;
  EstimatorNeeds needs_;

  Array latents_;                      // [R, n, p], remembered
  std::vector<double> rotated_;        // [R p][stride], Q'U of these
  std::vector<double> total_squares_;  // [R], of these

  // Of the last batch.
  std::int64_t batch_ = 0, columns_ = 0;
  std::vector<Share> shares_;            // [R]
  AlignedVector<Real> products_;         // [R p][stride]
  AlignedVector<Real> functions_;        // [.][stride], of C along the eigenvectors
  std::vector<GradientSums> sums_;       // [blocks][R]
  std::vector<double> batch_squares_;    // [R]
  std::vector<double> diagonal_slopes_;  // [b][R], then [R]
};

}  // namespace

std::unique_ptr<BatchEstimator> make_relationship_cpu_estimator(
    const Relationship& relationship, const std::vector<EstimatorChoice>& choices,
    nd::ScalarType type) {
  if (type == nd::kFloat) {
    return std::make_unique<CpuEstimator<float>>(relationship, choices);
  }
  return std::make_unique<CpuEstimator<double>>(relationship, choices);
}

}  // namespace kinflow
