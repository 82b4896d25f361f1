// Formats null models.
#include "kinflow/gwas/null_model_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kinflow {
namespace {

std::string triangle(const std::vector<double>& matrix, std::size_t order) {
  std::string text;
  for (std::size_t i = 0; i < order; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      text += fmt::format("{}{:.8g}", text.empty() ? "" : ";", matrix[j * order + i]);
    }
  }
  return text;
}

}  // namespace

std::string null_model_header() {
  return "LEFT_OUT\tADDED\tSET\tTRAITS\tLOG_"
         "LIKELIHOOD\tVG\tVE\tITERATIONS\tCONVERGED\n";
}

std::string null_model_rows(const NullModelPlace& place,
                            const std::vector<NullModel>& models) {
  std::string rows;
  for (const auto& model : models) {
    const auto order = model.traits.size();
    const auto& variances = model.fit.variances;
    rows += fmt::format("{}\t{}\t{}\t{}\t{:.10g}\t{}\t{}\t{}\t{}\n",
                        place.left_out.empty() ? "none" : place.left_out,
                        place.adds_sex ? "sex" : "none", model.set,
                        fmt::join(model.traits, ";"), model.fit.log_likelihood,
                        triangle(variances.genetic, order),
                        triangle(variances.residual, order), model.fit.iterations,
                        model.fit.has_converged ? "yes" : "no");
  }
  return rows;
}

}  // namespace kinflow
