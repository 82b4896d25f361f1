// Memory of results, and the distribution of the test of one trait.
#include "kinflow/genetics/snp_results.h"

#include <cmath>

#include "kinflow/core/student_t.h"

namespace kinflow {

void SnpResults::resize(std::int64_t snps, std::int64_t traits) {
  chi_square.resize(static_cast<std::size_t>(snps));
  p_value.resize(static_cast<std::size_t>(snps));
  effects.resize(static_cast<std::size_t>(snps * traits));
  standard_errors.resize(static_cast<std::size_t>(snps * traits));
}

double f_tail(double f, double degrees) {
  return std::isnan(f) ? f : 2 * student_t_tail(std::sqrt(std::fmax(f, 0)), degrees);
}

}  // namespace kinflow
