// Names of files, and descriptions of requests with what they read.
#include "kinflow/gwas/study_files.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "kinflow/core/hash.h"
#include "kinflow/core/version.h"
#include "kinflow/data/write_relationship.h"
#include "kinflow/gwas/partial_results.h"

namespace kinflow {
namespace {

/// All that decides the tests but the traits.
nlohmann::json describe_inputs(const GwasRequest& request, const GwasInputs& inputs) {
  nlohmann::json description = {
      {"kind", static_cast<int>(request.data.kind)},
      {"nonfounders", request.data.variants.with_nonfounders},
      {"autosomes", request.data.variants.autosomes},
      {"allow_extra_chr", request.data.variants.allow_extra_chr},
      {"loco", request.data.leave_chromosome_out},
      {"by_position", request.data.relationship_by_position},
      {"test", request.test == TestKind::score ? "score" : "wald"},
      {"people", inputs.people().people},
      {"variants", inputs.variants().rows},
      {"relationship_variants", inputs.relationship_variants()},
      {"covariates", hash_of(inputs.people().covariates.values)}};
  for (const auto& file : inputs.files()) {
    description["files"].push_back(
        {file, std::filesystem::file_size(file),
         std::filesystem::last_write_time(file).time_since_epoch().count()});
  }
  return description;
}

}  // namespace

nlohmann::json describe_study(const GwasRequest& request, const GwasInputs& inputs) {
  auto description = describe_inputs(request, inputs);
  const auto& traits = inputs.people().traits;
  description["traits"] = {traits.names, hash_of(traits.values)};
  description["transform"] = {static_cast<int>(request.transform),
                              static_cast<int>(request.covariate_use),
                              static_cast<int>(request.flow_input)};
  if (request.transform == TraitTransform::flow) {
    description["flow"] = to_json(request.flow);
    description["flow"].erase("threads");
    description["flow"].erase("device");
  }
  description["single"] = request.single;
  description["zipped"] = request.zipped;
  const auto& clump = request.clump;
  description["clump"] = {clump.p1, clump.p2, clump.r2, clump.kb};
  return description;
}

nlohmann::json describe_tests(const GwasRequest& request, const GwasInputs& inputs,
                              const std::vector<TraitSet>& sets) {
  auto description = describe_inputs(request, inputs);
  description["version"] = version();
  description["commit"] = commit();
  for (const auto& set : sets) {
    description["sets"].push_back(
        {set.name, set.traits.names, set.is_joint, hash_of(set.traits.values)});
  }
  return description;
}

std::string partial_of(const std::string& prefix) { return prefix + ".partial"; }
std::string model_of(const std::string& prefix) { return prefix + ".model"; }
std::string flow_matrix_of(const std::string& prefix) {
  return prefix + ".flow.grm.bin";
}

ResultFiles gwas_files(const std::string& prefix) {
  ResultFiles files;
  const auto add = [&](const ResultFiles& more) {
    files.insert(files.end(), more.begin(), more.end());
  };
  for (const std::string part : {"", ".single"}) {
    for (const char* ending : {".assoc.tsv", ".assoc.tsv.gz", ".loci.tsv"}) {
      files.push_back(prefix + part + ending);
    }
    for (const auto* ending : kGwasPictures) files.push_back(prefix + part + ending);
  }
  for (const char* ending :
       {".null.tsv", ".id", ".pheno", ".traits.tsv", ".report.html"}) {
    files.push_back(prefix + ending);
  }
  const auto matrix = flow_matrix_of(prefix);
  add(files_of_relationship(matrix));
  // Decompositions that the fit of the flow keeps beside its matrix.
  add(paths_between(matrix + ".eigen-", ".safetensors"));
  files.push_back(model_of(prefix) + "/.lock");
  add(run_folder_files(model_of(prefix)));
  // The last one, so that a killed process leaves what is still unfinished.
  add(PartialResults::files(partial_of(prefix)));
  return files;
}

}  // namespace kinflow
