// Histories of all replicas and folds.
#include "kinflow/pages/learning_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "kinflow/core/error.h"
#include "kinflow/data/delimited_lines.h"
#include "kinflow/pages/packed_numbers.h"
#include "kinflow/pages/record_lookup.h"

namespace kinflow {
namespace {

struct Curve {
  std::vector<double> epoch, score, train, parameter;
};
using CurveKey = std::pair<std::int64_t, std::int64_t>;  // fold and replica

struct History {
  std::map<CurveKey, Curve> curves;
  std::string score;  // its column
  bool has_folds = false, has_parameter = false;
};

History read_history(const std::string& path) {
  DelimitedLines lines(path);
  const auto& header = lines.header();
  const auto column = [&](const std::string& name) -> std::optional<std::size_t> {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) return std::nullopt;
    return static_cast<std::size_t>(found - header.begin());
  };
  History history;
  const auto score = std::find_if(
      header.begin(), header.end(),
      [](const std::string& name) { return name.rfind("valid_", 0) == 0; });
  if (score != header.end()) history.score = *score;
  const auto epoch = column("epoch"), fold = column("fold"),
             replica = column("replica"), train = column("train_nll_nats"),
             parameter = column("typical_parameter"), valid = column(history.score);
  if (!epoch) lines.fail("expected a column 'epoch', found none");
  std::set<std::int64_t> folds;
  while (lines.next()) {
    const auto at = [&](const std::optional<std::size_t>& place) {
      return place ? cell_number(lines.cells()[*place]) : std::nan("");
    };
    const auto whole = [&](const std::optional<std::size_t>& place, double otherwise) {
      const double value = at(place);
      return static_cast<std::int64_t>(std::abs(value) < 1e15 ? value : otherwise);
    };
    const auto key = CurveKey{whole(fold, 1), whole(replica, 0)};
    folds.insert(key.first);
    auto& curve = history.curves[key];
    curve.epoch.push_back(static_cast<double>(whole(epoch, 0)));
    curve.score.push_back(at(valid));
    curve.train.push_back(at(train));
    curve.parameter.push_back(at(parameter));
    history.has_parameter =
        history.has_parameter || std::abs(curve.parameter.back()) > 0;
  }
  history.has_folds = folds.size() > 1;
  return history;
}

// The epochs that are shown: of every stretch the lowest score, and the first, the last
// and the best of all.
std::vector<std::size_t> shown_epochs(const Curve& curve, double best) {
  const auto count = curve.epoch.size();
  std::set<std::size_t> shown;
  const auto stretch =
      std::max<std::size_t>(1, (count + kMostCurveEpochs - 1) / kMostCurveEpochs);
  for (std::size_t first = 0; first < count; first += stretch) {
    auto lowest = first;
    for (auto i = first; i < std::min(first + stretch, count); ++i) {
      if (curve.score[i] < curve.score[lowest]) lowest = i;
      if (curve.epoch[i] == best) shown.insert(i);
    }
    shown.insert(lowest);
  }
  if (count > 0) {
    shown.insert(0);
    shown.insert(count - 1);
  }
  return {shown.begin(), shown.end()};
}

nlohmann::json picked(const std::vector<double>& values,
                      const std::vector<std::size_t>& places) {
  auto list = nlohmann::json::array();
  for (const auto place : places) list.push_back(rounded(values[place]));
  return list;
}

std::map<CurveKey, double> members_of(const nlohmann::json& record, bool has_folds) {
  std::map<CurveKey, double> members;
  const auto list = found_at(record, "/result/members");
  if (list.is_array()) {
    for (const auto& member : list) {
      const auto replica = number_at(member, "/replica");
      if (!std::isfinite(replica)) continue;
      const auto fold = has_folds ? number_at(member, "/fold", 1) : 1.0;
      members[{static_cast<std::int64_t>(fold), static_cast<std::int64_t>(replica)}] =
          number_at(member, "/best_epoch");
    }
  }
  const auto best = number_at(record, "/result/best_replica");
  if (members.empty() && std::isfinite(best) && !has_folds) {
    members[{1, static_cast<std::int64_t>(best)}] =
        number_at(record, "/result/best_epoch");
  }
  return members;
}

std::string score_name(const std::string& key, bool is_of_images) {
  if (is_of_images) return "NLL of validation images, nats an image";
  if (key == "valid_weighted_nll_nats") return "weighted NLL of held-out rows, nats";
  if (key == "valid_joint_nll_nats_per_row") return "joint NLL of held-out rows, nats";
  return "NLL of held-out rows, nats";
}

nlohmann::json section_of(const History& history, const nlohmann::json& record) {
  const auto members = members_of(record, history.has_folds);
  auto series = nlohmann::json::array();
  std::size_t others = 0;
  const auto in_all =
      history.curves.size() - std::min(members.size(), history.curves.size());
  // Some of those that were not kept, evenly spread, where there are too many.
  const double every = std::max(
      1.0, static_cast<double>(in_all) / static_cast<double>(kMostOtherCurves));
  double next = 0;
  for (const auto& [key, curve] : history.curves) {
    const auto member = members.find(key);
    if (member == members.end()) {
      if (static_cast<double>(others++) < next) continue;
      next += every;
    }
    double best = member == members.end() ? std::nan("") : member->second;
    double lowest = std::nan("");
    for (std::size_t i = 0; i < curve.score.size(); ++i) {
      if (std::isfinite(curve.score[i]) && !(curve.score[i] >= lowest)) {
        lowest = curve.score[i];
        if (member == members.end()) best = curve.epoch[i];
      }
    }
    const auto places = shown_epochs(curve, best);
    nlohmann::json one = {{"fold", key.first},
                          {"replica", key.second},
                          {"member", member != members.end()},
                          {"best", finite_or_null(best)},
                          {"best_score", rounded(lowest, 6)},
                          {"epoch", picked(curve.epoch, places)},
                          {"score", picked(curve.score, places)},
                          {"train", picked(curve.train, places)}};
    if (history.has_parameter) one["parameter"] = picked(curve.parameter, places);
    series.push_back(std::move(one));
  }
  const bool is_of_images = text_at(record, "/kind") == "images";
  std::string caption = fmt::format(
      "A dot marks the epoch whose weights were kept: the lowest score of {} that the "
      "flow had not seen.",
      is_of_images ? "images" : "rows");
  if (static_cast<double>(in_all) > static_cast<double>(kMostOtherCurves)) {
    caption += fmt::format(" Of {} flows that were not kept {} are shown.", in_all,
                           kMostOtherCurves);
  }
  nlohmann::json section = {
      {"type", "curves"},
      {"title", "Learning curves"},
      {"lead",
       "The score of every flow after each epoch of the training. Lower is better; a "
       "curve that rises again shows overfitting."},
      {"folds", history.has_folds},
      {"held_out_text", is_of_images ? "Validation images" : "Held-out rows"},
      {"score_label", score_name(history.score, is_of_images)},
      {"series", std::move(series)},
      {"caption", caption}};
  if (history.has_parameter) {
    section["parameter_label"] = "typical strength of the dependence";
  }
  return section;
}

}  // namespace

nlohmann::json learning_curves(const std::string& metrics_path,
                               const nlohmann::json& record) {
  const auto missing = [](const std::string& why) {
    return nlohmann::json{{"title", "Learning curves"}, {"missing", why}};
  };
  std::error_code ignored;
  if (!std::filesystem::exists(metrics_path, ignored)) {
    return missing(
        "metrics.csv is not there: the history of the training is not known.");
  }
  try {
    const auto history = read_history(metrics_path);
    if (history.curves.empty()) return missing("metrics.csv holds no epoch yet.");
    return section_of(history, record);
  } catch (const InputError& error) {
    return missing(std::string("The history of the training cannot be read: ") +
                   error.what());
  }
}

}  // namespace kinflow
