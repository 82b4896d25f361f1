// Writes the traits as a table, fits a flow to it and maps them.
#include "kinflow/gwas/flow_traits.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "kinflow/array/array.h"
#include "kinflow/array/one_thread.h"
#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/data/write_table.h"
#include "kinflow/fit/run_folder.h"

namespace kinflow {
namespace {

constexpr const char* kFamily = "FID";
constexpr const char* kIndividual = "IID";

void write_traits(const FlowTraits& given, const std::string& path) {
  const auto columns = side_by_side(given.traits, given.context);
  TextColumn families{kFamily, {}}, individuals{kIndividual, {}};
  for (const auto& id : given.ids) {
    families.cells.push_back(id.family.empty() ? "0" : id.family);
    individuals.cells.push_back(id.individual);
  }
  write_table(path, columns.names,
              by_rows(columns, static_cast<std::int64_t>(given.ids.size())),
              {families, individuals});
}

/// The hash that the file of the traits has once it is written.
std::string hash_of_traits(const FlowTraits& given) {
  const auto path = given.directory + ".new.tsv";
  write_traits(given, path);
  const auto hash = file_hash(path);
  std::filesystem::remove(path);
  return hash;
}

FitRequest request_for(const FlowTraits& given) {
  auto request = given.fit;
  auto& data = request.data;
  data.table = std::filesystem::absolute(given.table);
  data.columns = given.traits.names;
  data.context = given.context.names;
  if (given.relationship.empty()) {
    request.train.schedule = Schedule::baseline;
  } else {
    data.dependence.relationships = {std::filesystem::absolute(given.relationship)};
    if (!given.relationship_ids.empty()) {
      data.dependence.relationship_ids = {
          std::filesystem::absolute(given.relationship_ids)};
    }
    data.dependence.id = {kFamily, kIndividual};
  }
  return with_defaults(request);
}

bool holds_run(const std::string& directory) {
  return std::filesystem::exists(directory + "/run.json");
}

[[noreturn]] void fail_for_another_run(const std::string& directory) {
  throw InputError(fmt::format(
      "{}: expected a free folder or the run of this request, found another "
      "run; remove it or choose another --out",
      directory));
}

void check_same_relationship(const FlowTraits& given, const FitRequest& request) {
  const auto folder = RunFolder::open(given.directory);
  const auto record = folder.read_record();
  const auto hashes =
      JsonReader(record, folder.record_path()).object("dependence_hashes").json();
  for (const auto& path : input_files(request.data.dependence)) {
    if (hashes.value(path, nlohmann::json()) != file_hash(path))
      fail_for_another_run(given.directory);
  }
}

/// InputError where the folder holds a run of another request or of other traits.
void check_run_folder(const FlowTraits& given) {
  if (!holds_run(given.directory)) return;
  const auto record = RunFolder::open(given.directory).read_record();
  if (to_json(read_run_request(given.directory)) != to_json(request_for(given)) ||
      record.value("data_hash", nlohmann::json()) != hash_of_traits(given)) {
    fail_for_another_run(given.directory);
  }
}

}  // namespace

NamedColumns latents_of_flow(const FlowTraits& given, const std::atomic<bool>* stop,
                             Logger& logger) {
  check_run_folder(given);
  const auto request = request_for(given);
  const bool is_there = holds_run(given.directory);
  if (is_there) check_same_relationship(given, request);
  write_traits(given, given.table);
  if (is_there && run_is_finished(given.directory)) {
    logger.info(given.directory + ": the flow is there already");
  } else {
    const auto result = fit(request,
                            {.directory = given.directory,
                             .resume = is_there,
                             .gives_hints = false,
                             .stop = stop},
                            logger);
    logger.info(fmt::format("{}: {}, {}, {:.1f} s", given.directory, score_line(result),
                            result.model.dependence.summary(), result.seconds));
  }
  const auto model = load_model(model_path_of(given.directory), nd::kCPU, nd::kDouble);
  const auto people = static_cast<std::int64_t>(given.ids.size());
  const auto tensor = [&](const NamedColumns& columns) {
    const auto width = static_cast<std::int64_t>(columns.names.size());
    return nd::from_blob(const_cast<double*>(columns.values.data()), {width, people},
                         nd::kDouble)
        .t()
        .contiguous();
  };
  const OneThreadEach one_thread;
  const auto latents =
      model
          .to_latent(tensor(given.traits),
                     given.context.names.empty() ? Array() : tensor(given.context))
          .latents.t()
          .contiguous();
  NamedColumns result;
  for (std::int64_t j = 0; j < latents.size(0); ++j) {
    result.names.push_back(fmt::format("u{}", j + 1));
  }
  const auto* values = latents.data_ptr<double>();
  result.values.assign(values, values + latents.numel());
  return result;
}

FitRequest default_trait_flow(bool adjusted) {
  FitRequest request;
  request.vary_flow = true;
  request.row_flows = false;
  request.normal_scores = ScoresUse::choose;
  DependenceRequest dependence;
  if (adjusted) dependence.relationships = {"of the people"};
  request.train = default_train_options(dependence);
  request.train.patience = 30;
  request.replicas.weight_decays = {0.001, 0.01};
  request.replicas.memory_shares = {0.25};
  return request;
}

}  // namespace kinflow
