// The likelihood of two variants' haplotypes has its maxima at roots of a cubic.
#include "kinflow/genetics/haplotype_r2.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace kinflow {
namespace {

// Frequencies that the genotypes tell for sure, and the share h of those pairs of
// haplotypes that they leave open: x of them are a1 a1 with a2 a2, h - x the others.
class Likelihood {
 public:
  Likelihood(const HaplotypeCounts& counts, double total)
      : f11_(counts.a1_a1 / total),
        f12_(counts.a1_a2 / total),
        f21_(counts.a2_a1 / total),
        f22_(counts.a2_a2 / total),
        h_(counts.double_heterozygotes / total) {}

  // The x of the largest likelihood.
  double best() const {
    // 0 <= x <= h, in pieces on which the cubic is monotone.
    std::array<double, 4> ends{0, h_, h_, h_};
    std::size_t count = 1;
    for (const double x : extremes_of_cubic()) {
      if (x > ends[count - 1] && x < h_) ends[count++] = x;
    }
    ends[count] = h_;
    double best = 0, highest = logarithm(0);
    const auto consider = [&](double x) {
      const double value = logarithm(x);
      if (!(value > highest)) return;
      highest = value;
      best = x;
    };
    for (std::size_t i = 0; i < count; ++i) {
      if (cubic(ends[i]) * cubic(ends[i + 1]) < 0) consider(root(ends[i], ends[i + 1]));
    }
    consider(h_);
    return best;
  }

 private:
  // Zero where x is the share of h that frequencies with this x give: where the
  // likelihood is stationary.
  double cubic(double x) const {
    const double same = (f11_ + x) * (f22_ + x);
    const double other = (f12_ + h_ - x) * (f21_ + h_ - x);
    return x * other - (h_ - x) * same;
  }

  // Where its derivative, 3 a x^2 + 2 b x + c, is zero, in ascending order; NaN for
  // none.
  std::array<double, 2> extremes_of_cubic() const {
    const double a = 2, b = f11_ + f22_ - f12_ - f21_ - 3 * h_;
    const double c = f11_ * f22_ + f12_ * f21_ + h_ * (h_ + f12_ + f21_ - f11_ - f22_);
    const double root = std::sqrt(b * b - 3 * a * c);
    return {(-b - root) / (3 * a), (-b + root) / (3 * a)};
  }

  double root(double low, double high) const {
    const bool rises = cubic(low) < 0;
    for (;;) {
      const double middle = 0.5 * (low + high);
      if (middle <= low || middle >= high) return middle;
      ((cubic(middle) < 0) == rises ? low : high) = middle;
    }
  }

  double logarithm(double x) const {
    const auto term = [](double weight, double frequency) {
      return weight > 0 ? weight * std::log(frequency) : 0;
    };
    const double f11 = f11_ + x, f22 = f22_ + x;
    const double f12 = f12_ + h_ - x, f21 = f21_ + h_ - x;
    return term(h_, f11 * f22 + f12 * f21) + term(f11_, f11) + term(f12_, f12) +
           term(f21_, f21) + term(f22_, f22);
  }

  double f11_, f12_, f21_, f22_, h_;
};

}  // namespace

std::optional<double> haplotype_r2(const HaplotypeCounts& counts) {
  constexpr double kNoDisequilibrium = 1e-13;
  const double open = counts.double_heterozygotes;
  const double first_a1 = counts.a1_a1 + counts.a1_a2 + open;
  const double first_a2 = counts.a2_a1 + counts.a2_a2 + open;
  const double second_a1 = counts.a1_a1 + counts.a2_a1 + open;
  const double second_a2 = counts.a1_a2 + counts.a2_a2 + open;
  if (first_a1 == 0 || first_a2 == 0 || second_a1 == 0 || second_a2 == 0) {
    return std::nullopt;
  }
  const double total = first_a1 + first_a2;
  const double together =
      counts.a1_a1 / total + (open > 0 ? Likelihood(counts, total).best() : 0);
  const double expected = first_a1 / total * (second_a1 / total);
  const double disequilibrium = together - expected;
  if (std::abs(disequilibrium) < kNoDisequilibrium) return 0;
  return disequilibrium * disequilibrium /
         (expected * (first_a2 / total) * (second_a2 / total));
}

}  // namespace kinflow
