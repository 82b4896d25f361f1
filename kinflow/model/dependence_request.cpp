// Kinds of dependence, checks of requests, and their JSON.
#include "kinflow/model/dependence_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/json_reader.h"

namespace kinflow {

const Names<DependenceKind>& dependence_kind_names() {
  static const Names<DependenceKind> names = {
      {"independent", DependenceKind::independent},
      {"blocks", DependenceKind::blocks},
      {"relationship", DependenceKind::relationship},
      {"time", DependenceKind::time},
      {"sum", DependenceKind::sum},
      {"unstructured", DependenceKind::unstructured}};
  return names;
}

const Names<std::optional<BlockCorrelation>>& block_correlation_names() {
  static const Names<std::optional<BlockCorrelation>> names = {
      {"choose", std::nullopt},
      {"shared", BlockCorrelation::shared},
      {"per-block", BlockCorrelation::per_block},
      {"per-size", BlockCorrelation::per_size},
      {"pooled", BlockCorrelation::pooled},
      {"per-latent", BlockCorrelation::per_latent},
      {"per-block-and-latent", BlockCorrelation::per_block_and_latent}};
  return names;
}

const Names<RelationshipScale>& relationship_scale_names() {
  static const Names<RelationshipScale> names = {
      {"mean-diagonal", RelationshipScale::unit_diagonal},
      {"none", RelationshipScale::none}};
  return names;
}

const Names<TimeKernel>& time_kernel_names() {
  static const Names<TimeKernel> names = {{"exponential", TimeKernel::exponential},
                                          {"gaussian", TimeKernel::gaussian}};
  return names;
}

const Names<RelationshipSolver>& relationship_solver_names() {
  static const Names<RelationshipSolver> names = {
      {"spectral", RelationshipSolver::spectral},
      {"iterative", RelationshipSolver::iterative}};
  return names;
}

std::vector<std::string> parts_of(const DependenceRequest& request) {
  std::vector<std::string> parts;
  if (!request.group.empty()) parts.push_back("group");
  const auto files = request.relationships.size();
  if (files == 1) parts.push_back("relationship");
  for (std::size_t i = 1; files > 1 && i <= files; ++i) {
    parts.push_back(fmt::format("relationship {}", i));
  }
  if (!request.components.empty()) parts.push_back("components");
  if (request.time_kernel) parts.push_back("time");
  return parts;
}

DependenceKind kind_of(const DependenceRequest& request) {
  if (request.unstructured) return DependenceKind::unstructured;
  const auto parts = parts_of(request);
  if (parts.empty()) return DependenceKind::independent;
  if (parts.size() > 1) return DependenceKind::sum;
  if (parts.front() == "group") return DependenceKind::blocks;
  return parts.front() == "time" ? DependenceKind::time : DependenceKind::relationship;
}

bool has_own_latents(const DependenceRequest& request) {
  return request.per_latent.value_or(false) ||
         request.correlation == BlockCorrelation::per_latent ||
         request.correlation == BlockCorrelation::per_block_and_latent;
}

bool has_few_relatives(const DependenceRequest& request) {
  const auto is_sparse = [&](const std::string& path) {
    switch (find_relationship(path).format) {
      case RelationshipFormat::grm_sparse:
      case RelationshipFormat::pairs:
      case RelationshipFormat::matrix_market:
      case RelationshipFormat::pedigree:
        return true;
      default:
        return request.sparsify.has_value();
    }
  };
  return request.components.empty() &&
         std::all_of(request.relationships.begin(), request.relationships.end(),
                     is_sparse);
}

void check_dependence(const DependenceRequest& request) {
  const auto kind = kind_of(request);
  const bool by_files = !request.relationships.empty() || !request.components.empty();
  const auto expect = [](bool holds, const std::string& message) {
    if (!holds) throw InputError(message);
  };
  expect(!request.unstructured || parts_of(request).empty(),
         fmt::format("--unstructured: expected no other dependence beside it, found {}",
                     fmt::join(parts_of(request), " + ")));
  expect(
      request.id.empty() || by_files,
      "--id: expected --relationship FILE or --relationship-pcs FILE, found neither");
  expect(
      request.id.size() <= 2,
      fmt::format("--id: expected one column, or two of family and individual, found "
                  "{}",
                  request.id.size()));
  const bool by_position = request.relationship_by_position;
  expect(!by_position || by_files,
         "--relationship-by-position: expected --relationship FILE or "
         "--relationship-pcs FILE, found neither");
  expect(!by_position || request.id.empty(),
         "--relationship-by-position: expected no --id beside it, which matches rows "
         "by their ids, found " +
             fmt::format("--id {}", fmt::join(request.id, ",")));
  expect(!by_position || request.relationship_ids.empty(),
         "--relationship-by-position: expected no --relationship-ids beside it, since "
         "ids are not looked at, found them");
  expect(!by_files || by_position || !request.id.empty(),
         fmt::format(
             "{}: expected --id COLUMN, to find the table's rows by their ids "
             "(those of a matrix stand beside it or in --relationship-ids "
             "FILE), or --relationship-by-position where both have the same "
             "rows in the same order, found neither",
             request.relationships.empty() ? "--relationship-pcs" : "--relationship"));
  const auto& matrices = request.relationships;
  for (auto matrix = matrices.begin(); matrix != matrices.end(); ++matrix) {
    expect(std::find(matrices.begin(), matrix, *matrix) == matrix,
           "--relationship: expected different files, since the weights of one that "
           "counts twice are not known, found " +
               *matrix + " twice");
  }
  expect(request.relationship_ids.empty() ||
             request.relationship_ids.size() == request.relationships.size(),
         fmt::format("--relationship-ids: expected one file for each --relationship, "
                     "found {} for {}",
                     request.relationship_ids.size(), request.relationships.size()));
  expect(!request.sparsify || !request.relationships.empty(),
         "--sparsify: expected --relationship FILE, found none");
  expect(!request.time_kernel || !request.time.empty(),
         "--time-kernel: expected --time COLUMN, found none");
  expect(request.time_decay.empty() || request.time_kernel,
         "--time-decay: expected --time-kernel, found none");
  expect(request.cache.empty() || request.cache == "none" ||
             std::filesystem::is_directory(request.cache),
         "--cache: expected a folder, or none, found " + in_quotes(request.cache));
  expect(kind == DependenceKind::blocks || kind == DependenceKind::independent ||
             request.correlation.value_or(BlockCorrelation::per_block) ==
                 BlockCorrelation::per_block,
         "--correlation: expected --group alone, found another dependence");
  expect(!request.per_latent.value_or(false) || (kind != DependenceKind::independent &&
                                                 kind != DependenceKind::unstructured),
         "--share-per-latent: expected a dependence that is not --unstructured, found "
         "another one");
  const bool iterative = request.solver == RelationshipSolver::iterative;
  expect(!iterative ||
             (kind == DependenceKind::relationship && !request.relationships.empty()),
         "--solver iterative: expected one --relationship and no other dependence, "
         "found another one");
  expect(kind != DependenceKind::sum || !request.time_kernel ||
             request.time_decay.size() == 1,
         fmt::format("--time-decay: expected one value for a kernel beside other "
                     "dependences, where it is not learned, found {}",
                     request.time_decay.empty()
                         ? "none"
                         : std::to_string(request.time_decay.size())));
}

nlohmann::json to_json(const DependenceRequest& request) {
  return {{"group", request.group},
          {"correlation", name_of(block_correlation_names(), request.correlation)},
          {"relationships", request.relationships},
          {"relationship_ids", request.relationship_ids},
          {"relationship_scale",
           name_of(relationship_scale_names(), request.relationship_scale)},
          {"sparsify", request.sparsify ? std::vector<double>{*request.sparsify}
                                        : std::vector<double>{}},
          {"solver", name_of(relationship_solver_names(), request.solver)},
          {"components", request.components},
          {"id", request.id},
          {"relationship_by_position", request.relationship_by_position},
          {"time", request.time},
          {"time_kernel", request.time_kernel
                              ? name_of(time_kernel_names(), *request.time_kernel)
                              : "none"},
          {"time_decay", request.time_decay},
          {"unstructured", request.unstructured},
          {"per_latent", request.per_latent ? nlohmann::json(*request.per_latent)
                                            : nlohmann::json("choose")},
          {"cache", request.cache}};
}

DependenceRequest dependence_request_from(const JsonReader& json) {
  DependenceRequest request{
      .group = json.text("group"),
      .correlation = json.one_of("correlation", block_correlation_names()),
      .relationships = json.texts("relationships"),
      .relationship_ids = json.texts("relationship_ids"),
      .relationship_scale =
          json.one_of("relationship_scale", relationship_scale_names()),
      .sparsify = {},
      .solver = json.one_of("solver", relationship_solver_names()),
      .components = json.text("components"),
      .id = json.texts("id"),
      .relationship_by_position = false,
      .time = json.text("time"),
      .time_kernel = {},
      .time_decay = json.numbers("time_decay", kSmallestDecay, kLargestDecay),
      .unstructured = json.boolean("unstructured"),
      .per_latent = false,
      .cache = json.text("cache")};
  // Records of earlier versions have no such key: without ids rows went by position.
  request.relationship_by_position =
      json.json().contains("relationship_by_position")
          ? json.boolean("relationship_by_position")
          : request.id.empty() &&
                !(request.relationships.empty() && request.components.empty());
  // Records of earlier versions have no such key.
  if (json.json().contains("per_latent")) {
    if (json.json().at("per_latent") == "choose") {
      request.per_latent.reset();
    } else {
      request.per_latent = json.boolean("per_latent");
    }
  }
  const auto sparsify = json.numbers("sparsify", 0, kLargestThreshold);
  if (!sparsify.empty()) request.sparsify = sparsify.front();
  if (json.text("time_kernel") != "none") {
    request.time_kernel = json.one_of("time_kernel", time_kernel_names());
  }
  return request;
}

std::vector<std::string> input_files(const DependenceRequest& request) {
  std::vector<std::string> files;
  for (std::size_t i = 0; i < request.relationships.size(); ++i) {
    const auto found = find_relationship(
        request.relationships[i],
        {.ids = request.relationship_ids.empty() ? "" : request.relationship_ids[i]});
    files.push_back(found.matrix);
    if (!found.ids.empty()) files.push_back(found.ids);
  }
  if (!request.components.empty()) files.push_back(request.components);
  return files;
}

}  // namespace kinflow
