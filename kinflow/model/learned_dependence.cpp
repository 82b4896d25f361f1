// Learned parameters, and their use for new rows.
#include "kinflow/model/learned_dependence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "kinflow/array/array.h"
#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/data/label_key.h"
#include "kinflow/data/table.h"
#include "kinflow/dependence/dependence.h"

namespace kinflow {
namespace {

constexpr std::int64_t kMostLatents = 100'000;

bool is_lambda(double value) { return value > 0 && value <= 1; }
bool is_correlation(double value) { return value >= 0 && value < 1; }

// A sum's weights: what rows do not share must be positive, parts may be without
// weight.
bool are_weights(const std::vector<double>& values) {
  for (const double value : values) {
    if (!(value >= 0 && std::isfinite(value))) return false;
  }
  return !values.empty() && values.front() > 0;
}

// Empty where the parameters of a kind are as they should be, else what was expected.
std::string expected_parameters(DependenceKind kind, std::size_t parts,
                                const std::vector<double>& values) {
  switch (kind) {
    case DependenceKind::independent:
      return values.empty() ? "" : "none";
    case DependenceKind::blocks:
      for (const double value : values) {
        if (!is_correlation(value)) return "correlations in [0, 1)";
      }
      return "";
    case DependenceKind::relationship:
      return values.size() == 1 && is_lambda(values[0]) ? "" : "a lambda in (0, 1]";
    case DependenceKind::time:
      return values.size() == 2 && is_lambda(values[0]) && values[1] > 0 &&
                     std::isfinite(values[1])
                 ? ""
                 : "a lambda in (0, 1] and a positive decay";
    case DependenceKind::sum:
      return values.size() == parts + 1 && are_weights(values)
                 ? ""
                 : fmt::format("{} weights that are not negative, the first positive",
                               parts + 1);
    case DependenceKind::unstructured:
      for (const double value : values) {
        if (!std::isfinite(value)) return "finite numbers";
      }
      return "";
  }
  return "";
}

std::string in_words(const LearnedDependence& learned) {
  if (learned.kind == DependenceKind::independent) return "independent rows";
  auto text = "a dependence of kind " + name_of(dependence_kind_names(), learned.kind);
  if (!learned.parts.empty()) {
    text += fmt::format(" ({})", fmt::join(learned.parts, " + "));
  }
  if (learned.kind == DependenceKind::time || learned.time_decay > 0) {
    text += " with the kernel " + name_of(time_kernel_names(), learned.time_kernel);
  }
  return text;
}

// For every block of at least two rows the place of its label among the learned ones;
// nothing for a label that is not known.
std::vector<std::optional<std::size_t>> known_blocks(
    const LearnedDependence& learned, const std::vector<std::string>& labels) {
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < learned.labels.size(); ++i) {
    known[label_key(learned.labels[i])] = i;
  }
  const auto blocks = number_blocks(labels);
  std::vector<std::optional<std::size_t>> places;
  for (std::size_t block = 0; block < blocks.label_of_block.size(); ++block) {
    if (blocks.size_of_block[block] < 2) continue;
    const auto found = known.find(label_key(blocks.label_of_block[block]));
    places.push_back(found == known.end() ? std::nullopt
                                          : std::optional(found->second));
  }
  return places;
}

// The correlations of blocks, all those of one latent after the other.
std::vector<double> block_correlations(const LearnedDependence& learned,
                                       const std::vector<std::string>& labels,
                                       const std::vector<double>& instead) {
  const auto places = known_blocks(learned, labels);
  if (!instead.empty()) return std::vector<double>(places.size(), instead.front());
  std::vector<double> correlations;
  for (std::int64_t latent = 0; latent < learned.latents; ++latent) {
    const auto own = learned.parameters_of(latent);
    const double typical = learned.typical_parameter_of(latent);
    for (const auto& place : places) {
      correlations.push_back(place ? own[*place] : typical);
    }
  }
  return correlations;
}

}  // namespace

std::int64_t LearnedDependence::rows_of_known_blocks(
    const std::vector<std::string>& of_rows) const {
  std::unordered_set<std::string> known;
  for (const auto& label : labels) known.insert(label_key(label));
  return std::count_if(of_rows.begin(), of_rows.end(), [&](const std::string& label) {
    return known.contains(label_key(label));
  });
}

std::vector<double> LearnedDependence::parameters_of(std::int64_t latent) const {
  const auto count = std::ssize(parameters) / latents;
  const auto first = parameters.begin() + latent * count;
  return {first, first + count};
}

std::vector<double> LearnedDependence::mean_parameters() const {
  std::vector<double> mean(parameters.size() / static_cast<std::size_t>(latents), 0);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    mean[i % mean.size()] += parameters[i] / static_cast<double>(latents);
  }
  return mean;
}

double LearnedDependence::typical_parameter() const {
  double sum = 0;
  for (std::int64_t latent = 0; latent < latents; ++latent) {
    sum += typical_parameter_of(latent);
  }
  return sum / static_cast<double>(latents);
}

double LearnedDependence::typical_parameter_of(std::int64_t latent) const {
  if (kind == DependenceKind::unstructured || parameters.empty()) return 0;
  const auto own = parameters_of(latent);
  if (kind != DependenceKind::blocks) return own.front();
  double weighted = 0, repeats = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto weight = static_cast<double>(sizes[i] - 1);
    weighted += weight * own[i];
    repeats += weight;
  }
  return weighted / repeats;
}

std::int64_t LearnedDependence::unstructured_rows() const {
  // Of the triangular number n (n + 1) / 2.
  return static_cast<std::int64_t>(
      std::floor(std::sqrt(2.0 * static_cast<double>(parameters.size()))));
}

std::string LearnedDependence::typical_name() const {
  switch (kind) {
    case DependenceKind::blocks:
      return "rho";
    case DependenceKind::relationship:
    case DependenceKind::time:
      return "lambda";
    case DependenceKind::sum:
      return "own share";
    default:
      return "";
  }
}

std::string LearnedDependence::summary() const {
  if (latents > 1) {
    // Which latent is which differs between the flows of a model.
    std::vector<double> each;
    for (std::int64_t latent = 0; latent < latents; ++latent) {
      each.push_back(typical_parameter_of(latent));
    }
    const auto [least, most] = std::minmax_element(each.begin(), each.end());
    return fmt::format("typical {} of the latents {:.4f} to {:.4f}{}", typical_name(),
                       *least, *most,
                       kind == DependenceKind::blocks
                           ? fmt::format(" over {} of '{}' with repeats",
                                         counted(labels.size(), "block"), column)
                           : "");
  }
  switch (kind) {
    case DependenceKind::independent:
      return "rows independent";
    case DependenceKind::blocks:
      return fmt::format("typical rho {:.4f} over {} of '{}' with repeats",
                         typical_parameter(), counted(labels.size(), "block"), column);
    case DependenceKind::relationship:
      return fmt::format("lambda {:.4f}", parameters.at(0));
    case DependenceKind::time:
      return fmt::format("lambda {:.4f}, gamma {:.4g} of the {} kernel of time",
                         parameters.at(0), parameters.at(1),
                         name_of(time_kernel_names(), time_kernel));
    case DependenceKind::sum: {
      auto text = fmt::format("weights: own share {:.4f}", parameters.at(0));
      for (std::size_t i = 0; i < parts.size(); ++i) {
        text += fmt::format(", {} {:.4f}", parts[i], parameters.at(i + 1));
      }
      return text;
    }
    case DependenceKind::unstructured:
      return fmt::format("{} numbers of an unstructured covariance", parameters.size());
  }
  return {};
}

DependenceRequest LearnedDependence::request_for_new_rows(
    DependenceRequest request, const std::vector<double>& instead) const {
  const bool knows_time = kind == DependenceKind::time || time_decay > 0;
  if (knows_time && !request.time.empty() && !request.time_kernel) {
    request.time_kernel = time_kernel;
  }
  if (!request.time.empty() && !request.time_kernel) {
    throw InputError("--time-kernel: expected one, since the model was fitted with " +
                     in_words(*this));
  }
  request.correlation = BlockCorrelation::per_block;
  request.per_latent = latents > 1 && instead.empty();
  const auto wanted = kind_of(request);
  if (wanted == DependenceKind::time) {
    if (!request.time_decay.empty()) {
      throw InputError(
          "--time-decay: expected none, since it is the model's, or the second "
          "--parameter");
    }
    const auto& source = instead.empty() ? parameters : instead;
    // Where each latent has its own decay the law has it as a parameter.
    if ((kind == wanted || !instead.empty()) && !has_own_latents(request)) {
      request.time_decay = {source.back()};
    }
  } else if (request.time_kernel && request.time_decay.empty() && time_decay > 0) {
    request.time_decay = {time_decay};
  }
  const bool same_time =
      !request.time_kernel || (*request.time_kernel == time_kernel &&
                               (kind == DependenceKind::time ||
                                request.time_decay == std::vector<double>{time_decay}));
  const bool is_learned = kind == wanted && same_time &&
                          (kind != DependenceKind::sum || parts == parts_of(request));
  if (!instead.empty()) {
    auto expected = expected_parameters(wanted, parts_of(request).size(), instead);
    if (wanted == DependenceKind::blocks && instead.size() != 1) {
      expected = "one correlation in [0, 1)";
    }
    if (wanted == DependenceKind::unstructured) {
      expected = "none for an unstructured dependence";
    }
    const double sum = std::accumulate(instead.begin(), instead.end(), 0.0);
    if (wanted == DependenceKind::sum && std::abs(sum - 1) > 1e-6) {
      expected =
          fmt::format("{} weights that add up to 1", parts_of(request).size() + 1);
    }
    if (!expected.empty()) {
      throw InputError(fmt::format("--parameter: expected {}, found {}", expected,
                                   fmt::join(instead, ",")));
    }
  } else if (!is_learned) {
    throw InputError(fmt::format(
        "--parameter: expected values for {}, since the model was fitted "
        "with {}",
        request.unstructured ? "an unstructured dependence"
                             : fmt::format("{}", fmt::join(parts_of(request), " + ")),
        in_words(*this)));
  }
  check_dependence(request);
  return request;
}

Array LearnedDependence::parameters_for_new_rows(
    const DependenceRequest& request, const Dependence& law,
    const std::vector<std::string>& rows_labels,
    const std::vector<double>& instead) const {
  auto values = instead.empty() ? parameters : instead;
  const auto wanted = kind_of(request);
  if (wanted == DependenceKind::blocks) {
    values = block_correlations(*this, rows_labels, instead);
  }
  // The law was made with the decay.
  if (wanted == DependenceKind::time && !has_own_latents(request)) values.resize(1);
  if (static_cast<std::int64_t>(values.size()) != law.parameter_count()) {
    throw InputError(
        fmt::format("an unstructured dependence belongs to the {} training rows, "
                    "expected as many, found {}",
                    unstructured_rows(), law.rows()));
  }
  return nd::tensor(values, nd::kDouble);
}

void LearnedDependence::check_times(bool are_dates) const {
  if (!times_are_dates || *times_are_dates == are_dates) return;
  const auto name = [](bool dates) { return dates ? "dates" : "numbers"; };
  throw InputError(fmt::format(
      "--time: expected {}, as the model's training rows have them, found {}",
      name(*times_are_dates), name(are_dates)));
}

nlohmann::json to_json(const LearnedDependence& learned) {
  nlohmann::json json = {
      {"kind", name_of(dependence_kind_names(), learned.kind)},
      {"column", learned.column},
      {"labels", learned.labels},
      {"sizes", learned.sizes},
      {"time_kernel", name_of(time_kernel_names(), learned.time_kernel)},
      {"time_decay", learned.time_decay},
      {"parts", learned.parts}};
  if (learned.times_are_dates) json["times_are_dates"] = *learned.times_are_dates;
  if (learned.latents > 1) json["latents"] = learned.latents;
  return json;
}

LearnedDependence learned_dependence_from(const JsonReader& json,
                                          const std::string& source) {
  LearnedDependence learned{
      .kind = json.one_of("kind", dependence_kind_names()),
      .column = json.text("column"),
      .labels = json.texts("labels"),
      .sizes = json.integers("sizes", 2, INT64_MAX),
      .time_kernel = json.one_of("time_kernel", time_kernel_names()),
      .time_decay = json.number("time_decay", 0, DBL_MAX),
      .parts = json.texts("parts")};
  if (json.json().contains("times_are_dates")) {
    learned.times_are_dates = json.boolean("times_are_dates");
  }
  if (json.json().contains("latents")) {
    learned.latents = json.integer("latents", 1, kMostLatents);
  }
  const bool blocks = learned.kind == DependenceKind::blocks;
  if (learned.sizes.size() != (blocks ? learned.labels.size() : 0)) {
    throw InputError(source + ": key 'dependence.sizes': expected one for each label");
  }
  return learned;
}

void check_parameters(const LearnedDependence& learned, const std::string& source) {
  if (std::ssize(learned.parameters) % learned.latents != 0) {
    throw InputError(
        fmt::format("{}: expected as many numbers for each of {} latents, "
                    "found {}",
                    source, learned.latents, learned.parameters.size()));
  }
  for (std::int64_t latent = 0; latent < learned.latents; ++latent) {
    const auto own = learned.parameters_of(latent);
    const auto expected = expected_parameters(learned.kind, learned.parts.size(), own);
    if (expected.empty()) continue;
    throw InputError(fmt::format("{}: expected {}, found {}", source, expected,
                                 fmt::join(own, ", ")));
  }
}

}  // namespace kinflow
