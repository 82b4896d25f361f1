// Memory of results, and p-values of their statistics.
#include "kinflow/genetics/snp_results.h"

#include <cmath>

#include "kinflow/statistics/chi_squared.h"
#include "kinflow/statistics/p_value.h"
#include "kinflow/statistics/student_t.h"

namespace kinflow {

void SnpResults::resize(std::int64_t snps, std::int64_t traits) {
  chi_square.resize(static_cast<std::size_t>(snps));
  log10_p.resize(static_cast<std::size_t>(snps));
  effects.resize(static_cast<std::size_t>(snps * traits));
  standard_errors.resize(static_cast<std::size_t>(snps * traits));
}

double log10_p_of_f(double f, double degrees) {
  if (std::isnan(f)) return f;
  const double t = std::sqrt(std::fmax(f, 0));
  return log10_p_of_log(log_two_sided_student_t_tail(t, degrees));
}

double log10_p_of_chi_square(double x, double degrees) {
  return std::isnan(x) ? x : log10_p_of_log(log_chi_squared_tail(x, degrees));
}

}  // namespace kinflow
