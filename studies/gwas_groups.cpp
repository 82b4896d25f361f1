// The paper's table of loci by groups of biomarkers, for mice.
#include "studies/gwas_groups.h"

#include <fmt/format.h>

#include <filesystem>

#include "kinflow/report/text_table.h"
#include "studies/biomarker_data.h"
#include "studies/gwas_trial.h"

namespace kinflow {
namespace {

using nlohmann::json;

constexpr int kMouseAutosomes = 19;

std::vector<std::string> blood_traits(const std::vector<std::string>& names) {
  std::vector<std::string> columns;
  for (const auto& name : names) columns.push_back("Biochem." + name);
  return columns;
}

}  // namespace

std::vector<TraitGroup> mice_groups() {
  return {{"lipids-and-glucose",
           blood_traits({"Tot.Cholesterol", "HDL", "LDL", "Triglycerides", "Glucose"})},
          {"liver", blood_traits({"ALP", "ALT", "AST", "Albumin", "Tot.Protein"})},
          {"kidney-and-minerals",
           blood_traits({"Urea", "Calcium", "Chloride", "Phosphorous", "Sodium"})}};
}

json run_gwas_group(const ExperimentOptions& options, const std::string& data,
                    const TraitGroup& group, std::uint64_t seed, Logger& logger) {
  GwasTrial trial;
  trial.data.bfile = genotypes_of_folder(data);
  trial.data.traits = {.path = data + "/pheno.tsv", .columns = group.traits};
  trial.data.covariates = {.path = data + "/pheno.tsv",
                           .columns = BiomarkerSource::mice_covariates(),
                           .categories = {"Biochem.Date.Year"}};
  trial.data.variants.autosomes = kMouseAutosomes;
  trial.data.variants.only_autosomes = true;
  trial.data.variants.least_minor_frequency = 0.05;
  trial.seed = seed;
  trial.device = options.device;
  trial.directory = fmt::format("{}/{}-{}", options.directory, group.name, seed);
  trial.stop = options.stop;
  GwasInputs inputs(trial.data);
  json result = {{"group", group.name},
                 {"people", inputs.count()},
                 {"variants", inputs.tested()},
                 {"methods", json::object()}};
  for (const auto& method : run_gwas_trial(trial, inputs, logger)) {
    result["methods"][method.name] = loci_of(method, inputs).size();
  }
  std::filesystem::remove_all(trial.directory);
  return result;
}

std::string gwas_group_report(const std::vector<TraitGroup>& groups,
                              const std::vector<json>& studies) {
  const auto methods = gwas_methods();
  std::vector<TableColumn> headings = {
      {"loci of mice", Align::kLeft}, {"traits"}, {"mice"}, {"variants"}};
  for (const auto& method : methods) headings.push_back({method});
  TextTable table(headings);
  std::vector<double> sums(methods.size());
  const double repeats =
      static_cast<double>(studies.size()) / static_cast<double>(groups.size());
  for (const auto& group : groups) {
    std::vector<std::string> cells = {group.name, std::to_string(group.traits.size())};
    std::vector<double> loci(methods.size());
    for (const auto& study : studies) {
      if (study.at("group") != group.name) continue;
      cells.resize(2);
      cells.push_back(study.at("people").dump());
      cells.push_back(study.at("variants").dump());
      for (std::size_t m = 0; m < methods.size(); ++m) {
        loci[m] += study.at("methods").at(methods[m]).get<double>() / repeats;
      }
    }
    for (std::size_t m = 0; m < methods.size(); ++m) {
      cells.push_back(fmt::format("{:.1f}", loci[m]));
      sums[m] += loci[m];
    }
    table.add_row(cells);
  }
  std::vector<std::string> last = {"all", "", "", ""};
  for (const double sum : sums) last.push_back(fmt::format("{:.1f}", sum));
  table.add_row(last);
  return table.markdown();
}

}  // namespace kinflow
