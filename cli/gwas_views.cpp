// Tables and pictures of an association study.
#include "gwas_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "genotype_options.h"
#include "kinflow/core/counted.h"
#include "kinflow/report/manhattan_figure.h"
#include "kinflow/report/qq_figure.h"
#include "kinflow/report/text_table.h"
#include "kinflow/statistics/p_value.h"

namespace kinflow::cli {
namespace {

std::string trait_table(const GwasInputs& inputs, const TraitCorrelations& together) {
  const auto& people = inputs.people();
  const auto& names = people.traits.names;
  TextTable table({{"trait", Align::kLeft},
                   {"missing"},
                   {"lost to it alone"},
                   {"largest correlation"},
                   {"with", Align::kLeft}});
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::size_t closest = i;
    double largest = 0;
    for (std::size_t j = 0; j < names.size(); ++j) {
      const double r = together.matrix[j * names.size() + i];
      if (j == i || std::abs(r) < std::abs(largest)) continue;
      largest = r;
      closest = j;
    }
    table.add_row({names[i], std::to_string(people.missing_of_trait[i]),
                   std::to_string(people.lost_to_trait[i]),
                   names.size() > 1 ? fmt::format("{:.3f}", largest) : "",
                   names.size() > 1 ? names[closest] : ""});
  }
  return table.plain();
}

/// Counts of all steps, also of those in which tables and the relationship had a say.
std::string step_table(const GwasInputs& inputs) {
  const Chosen people{{}, inputs.candidates().in_file, inputs.people_steps()};
  return filter_table(people, inputs.variants(), "people and variants");
}

void draw(const GwasRequest& request, const std::string& prefix,
          const GwasMethod& method, const GwasInputs& inputs,
          const std::vector<double>& log10_p) {
  ManhattanFigure manhattan{
      .log10_p = log10_p,
      .threshold = request.clump.p1,
      .title = counted(method.traits.size(), "trait") + ", " + method.name,
      .subtitle = fmt::format("{} people, {}, {}", inputs.count(),
                              counted(method.tested, "variant"),
                              counted(method.loci.size(), "locus", "loci"))};
  for (const auto& variant : inputs.genotypes().variants()) {
    manhattan.chromosome.push_back(variant.chromosome);
    manhattan.position.push_back(variant.position);
  }
  for (const auto& locus : method.loci) {
    manhattan.index.push_back(static_cast<std::size_t>(locus.index));
  }
  write_manhattan_figure(prefix + ".manhattan.png", manhattan);
  QqPValues values{.name = method.name, .log10_p = log10_p};
  if (!std::isnan(method.inflation)) values.inflation = method.inflation;
  write_qq_figure(
      prefix + ".qq.png",
      {.methods = {values}, .title = manhattan.title, .subtitle = manhattan.subtitle});
}

}  // namespace

GwasViews gwas_views(const GwasRequest& request) {
  return {.tables =
              [](const GwasInputs& inputs, const TraitCorrelations& together) {
                return std::vector<std::string>{step_table(inputs),
                                                trait_table(inputs, together)};
              },
          .pictures =
              [&request](const std::string& prefix, const GwasMethod& method,
                         const GwasInputs& inputs, const std::vector<double>& log10_p) {
                draw(request, prefix, method, inputs, log10_p);
              }};
}

std::string gwas_summary(const GwasResult& result, const GwasRequest& request) {
  TextTable table({{"method", Align::kLeft},
                   {"traits"},
                   {"variants tested"},
                   {"inflation"},
                   {"smallest p"},
                   {"loci"}});
  for (const auto& method : result.methods) {
    table.add_row(
        {method.name, std::to_string(method.traits.size()),
         std::to_string(method.tested),
         std::isnan(method.inflation) ? "-" : fmt::format("{:.4f}", method.inflation),
         format_p(method.largest_log10_p), std::to_string(method.loci.size())});
  }
  auto text =
      fmt::format("{}loci: p up to {:g}, r2 above {:g} within {:g} kb\n", table.plain(),
                  request.clump.p1, request.clump.r2, request.clump.kb);
  for (const auto& method : result.methods) {
    std::vector<std::string> shares;
    for (const auto& [trait, heritability] : method.heritability) {
      shares.push_back(fmt::format("{} {:.3f}", trait, heritability));
    }
    text += fmt::format("heritability, {}: {}\n", method.name, fmt::join(shares, ", "));
  }
  return text;
}

}  // namespace kinflow::cli
