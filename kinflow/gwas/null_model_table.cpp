// Formats null models.
#include "kinflow/gwas/null_model_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

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

// The places of cells of a row.
constexpr std::size_t kSet = 2, kTraits = 3, kHeritability = 7;

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

}  // namespace

std::string null_model_header() {
  return "LEFT_OUT\tADDED\tSET\tTRAITS\tLOG_"
         "LIKELIHOOD\tVG\tVE\tH2\tITERATIONS\tCONVERGED\n";
}

std::string null_model_rows(const NullModelPlace& place,
                            const std::vector<NullModel>& models) {
  std::string rows;
  for (const auto& model : models) {
    const auto order = model.traits.size();
    const auto& variances = model.fit.variances;
    rows += fmt::format(
        "{}\t{}\t{}\t{}\t{:.10g}\t{}\t{}\t{:.6g}\t{}\t{}\n",
        place.left_out.empty() ? "none" : place.left_out,
        place.adds_sex ? "sex" : "none", model.set, fmt::join(model.traits, ";"),
        model.fit.log_likelihood, triangle(variances.genetic, order),
        triangle(variances.residual, order), fmt::join(model.heritability, ";"),
        model.fit.iterations, model.fit.has_converged ? "yes" : "no");
  }
  return rows;
}

std::vector<TraitHeritability> mean_heritability(const std::string& rows,
                                                 const std::string& set) {
  std::vector<TraitHeritability> found;
  std::vector<double> models;
  for (const auto& row : parts_of(rows, '\n')) {
    const auto cells = parts_of(row, '\t');
    if (cells.at(kSet) != set) continue;
    const auto traits = parts_of(cells.at(kTraits), ';'),
               shares = parts_of(cells.at(kHeritability), ';');
    for (std::size_t t = 0; t < traits.size(); ++t) {
      const auto known = std::find_if(found.begin(), found.end(), [&](const auto& one) {
        return one.trait == traits[t];
      });
      const auto place = static_cast<std::size_t>(known - found.begin());
      if (known == found.end()) {
        found.push_back({.trait = traits[t]});
        models.push_back(0);
      }
      found[place].heritability += std::stod(shares.at(t));
      ++models[place];
    }
  }
  for (std::size_t t = 0; t < found.size(); ++t) found[t].heritability /= models[t];
  return found;
}

}  // namespace kinflow
