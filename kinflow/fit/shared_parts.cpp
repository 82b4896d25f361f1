// Batches of drawn groups under every member as it was fitted, and with errors of its
// latents' covariances.
#include "kinflow/fit/shared_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "kinflow/array/array.h"
#include "kinflow/array/array_numbers.h"
#include "kinflow/array/device.h"
#include "kinflow/core/log.h"
#include "kinflow/core/random.h"
#include "kinflow/core/size.h"
#include "kinflow/model/group_draws.h"
#include "kinflow/model/share_information.h"

namespace kinflow {
namespace {

/// Batches of groups at first, all members together; as many are added up to kRounds
/// times while a share is not known well enough.
constexpr std::int64_t kBatches = 32;
constexpr std::int64_t kFewestOfMember = 4;
constexpr std::int64_t kRounds = 6;
constexpr double kWantedError = 0.005;
/// Members of a model that are looked at, the best first.
constexpr std::int64_t kMostMembers = 16;
/// Draws of errors, for the intervals.
constexpr std::int64_t kErrorDraws = 256;
/// Columns whose pairs have correlations.
constexpr std::int64_t kMostColumnsOfPairs = 50;
constexpr double kInterval = 0.95, kReach = 1.96;
/// Error of a median, in those of a mean.
constexpr double kErrorOfMedian = 1.25;
/// Streams of random numbers that no draws of rows reach.
constexpr std::int64_t kFirstStream = std::int64_t{1} << 40;

enum class Draw : std::int64_t { rows = 1, context, errors };

Random random_of(std::uint64_t seed, Draw what, std::int64_t number) {
  return Random(seed, stream(Purpose::draws,
                             static_cast<std::int64_t>(what) * kFirstStream + number));
}

/// One way in which rows depend.
struct Way {
  std::string name;         // as in parts_of()
  std::string share;        // what the share of a column is called
  std::string correlation;  // that of the shared parts of two columns
  std::size_t place = 1;    // among the shares of latents
};

/// The median distance between times that follow each other; 1 where there are none.
double step_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::vector<double> steps;
  for (std::size_t i = 1; i < times.size(); ++i) {
    steps.push_back(times[i] - times[i - 1]);
  }
  if (steps.empty()) return 1;
  const auto middle = steps.begin() + std::ssize(steps) / 2;
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle;
}

Way named_way(const std::string& part, std::size_t place) {
  if (part == "group") {
    return {part, "share common to a group (ICC)", "correlation between groups", place};
  }
  if (part.starts_with("relationship")) {
    const auto which = part == "relationship" ? "" : " (" + part + ")";
    return {part, "heritability" + which, "genetic correlation" + which, place};
  }
  return {part, fmt::format("share that follows {}", part),
          fmt::format("correlation of what follows {}", part), place};
}

std::vector<Way> ways_of(const LearnedDependence& learned,
                         const DependenceRequest& request, const TimeColumn& times) {
  if (learned.kind == DependenceKind::time) {
    const auto step = fmt::format("one step ({:.4g}{})", step_of(times.values),
                                  times.are_dates ? " days" : "");
    return {
        {"time", "correlation over " + step, "correlation of what lasts over " + step}};
  }
  std::vector<Way> ways;
  for (const auto& part : parts_of(request)) {
    ways.push_back(named_way(part, ways.size() + 1));
  }
  return ways;
}

/// A member of the model, and the parts of its latents.
class MemberParts {
 public:
  MemberParts(Model member, const Dependence& law, const std::vector<double>& times,
              nd::Device device)
      : model_(std::move(member)), columns_(std::ssize(model_.columns)) {
    const auto& learned = model_.dependence;
    for (const auto& share : shares_of_latents(learned, columns_)) {
      diagonals_.push_back(nd::tensor(share, nd::kDouble).diag());
    }
    // Shares are known to within 1, however little the rows say.
    const auto [values, vectors] =
        nd::linalg_eigh(share_information(law, learned, columns_, device));
    error_roots_ = nd::matmul(vectors * values.clamp_min(1).rsqrt().unsqueeze(-2),
                              vectors.transpose(-1, -2));
    if (learned.kind == DependenceKind::time) left_ = what_is_left(step_of(times));
  }

  const Model& model() const { return model_; }

  LatentParts parts(const Way& way) const { return parts_of_way(way, diagonals_); }

  /// The same with errors of all covariances.
  LatentParts parts_with_errors(const Way& way, Random& random) const {
    const auto numbers =
        normal_numbers({columns_, columns_, std::ssize(diagonals_)}, random);
    const auto errors = nd::matmul(error_roots_, numbers.unsqueeze(-1)).squeeze(-1);
    auto all = diagonals_;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto own = errors.select(2, static_cast<std::int64_t>(i));
      all[i] = all[i] + own.triu() + own.triu(1).t();
    }
    return parts_of_way(way, all);
  }

 private:
  /// The root of what is left of each latent after a step of time, [p].
  Array what_is_left(double step) const {
    const auto& learned = model_.dependence;
    const double distance =
        learned.time_kernel == TimeKernel::gaussian ? step * step : step;
    std::vector<double> left;
    for (std::int64_t latent = 0; latent < columns_; ++latent) {
      const auto own = learned.parameters_of(learned.latents > 1 ? latent : 0);
      left.push_back(std::exp(-own.back() * distance));
    }
    return nd::tensor(left, nd::kDouble).sqrt();
  }

  LatentParts parts_of_way(const Way& way, const std::vector<Array>& all) const {
    auto shared = all.at(way.place);
    const auto whole = nd::stack(all).sum(0);
    if (left_.defined()) shared = shared * left_.unsqueeze(0) * left_.unsqueeze(1);
    return {.shared = shared, .own = whole - shared};
  }

  Model model_;
  std::int64_t columns_;
  std::vector<Array> diagonals_;  // own, and shared in each way, [p, p]
  Array error_roots_;             // [p, p, 1 + r, 1 + r]
  Array left_;
};

/// Numbers with their intervals.
struct Estimates {
  Array value, low, high, error;  // [v]; the Monte Carlo error
};

/// Draws of groups that share what one way gives them. A batch is of one member and,
/// where there is context, of one observed row of it: what contexts explain counts
/// neither as shared nor as own.
class GroupSimulation {
 public:
  GroupSimulation(const std::vector<MemberParts>& members, Way way, Array context,
                  std::uint64_t seed)
      : members_(members),
        way_(std::move(way)),
        context_(std::move(context)),
        seed_(seed),
        columns_(std::ssize(members.front().model().columns)) {
    const auto count = std::ssize(members_);
    const auto round =
        count * std::max(kFewestOfMember, (kBatches + count - 1) / count);
    for (std::int64_t i = 0; i < kRounds; ++i) {
      for (std::int64_t added = 0; added < round; ++added) {
        const auto batch = std::ssize(batches_);
        batches_.push_back(moments(batch, member_of(batch).parts(way_)));
      }
      if (is_precise()) break;
    }
    places_ = find_places();
  }

  nlohmann::json json() {
    const auto all = estimates();
    const auto at_place = [&](std::int64_t place, const char* name) {
      const auto number = [&](const Array& values) {
        const auto value = values[place].item<double>();
        return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
      };
      return nlohmann::json{{name, number(all.value)},
                            {"low", number(all.low)},
                            {"high", number(all.high)},
                            {"monte_carlo_error", number(all.error)}};
    };
    const auto& names = members_.front().model().columns;
    auto columns = nlohmann::json::array(), pairs = nlohmann::json::array();
    for (std::int64_t j = 0; j < columns_; ++j) {
      auto column = nlohmann::json{{"column", names[to_size(j)]}};
      if (places_[to_size(j)] == j) column.update(at_place(j, "share"));
      column["of_normal_scores"] = at_place(columns_ + j, "share");
      columns.push_back(column);
    }
    for (std::int64_t j = 0; has_pairs() && j < columns_; ++j) {
      for (std::int64_t l = j + 1; l < columns_; ++l) {
        auto pair = at_place((2 + j) * columns_ + l, "correlation");
        pair["columns"] = {names[to_size(j)], names[to_size(l)]};
        pairs.push_back(pair);
      }
    }
    return {{"way", way_.name},
            {"share", way_.share},
            {"correlation", way_.correlation},
            {"draws", std::ssize(batches_) * rows_of_batch_},
            {"columns", columns},
            {"correlations", pairs}};
  }

 private:
  bool has_pairs() const { return columns_ <= kMostColumnsOfPairs; }

  std::int64_t number_of_member(std::int64_t batch) const {
    return batch % std::ssize(members_);
  }
  const MemberParts& member_of(std::int64_t batch) const {
    return members_[to_size(number_of_member(batch))];
  }

  GroupMoments moments(std::int64_t batch, const LatentParts& parts) {
    auto random = random_of(seed_, Draw::rows, batch);
    const auto latents = latents_of_groups(draw_group_numbers(columns_, random), parts);
    rows_of_batch_ = latents.size(0);
    auto context = context_;
    if (context.defined()) {
      const auto row = random_of(seed_, Draw::context, batch).below(context.size(0));
      context = context.narrow(0, row, 1)
                    .expand({rows_of_batch_, context.size(1)})
                    .contiguous();
    }
    return moments_of_groups(member_of(batch).model().from_latent(latents, context),
                             has_pairs());
  }

  /// Shares of columns and of their normal scores, and correlations of the shared parts
  /// of every two columns: [2p], or [2p + p p].
  Array values_of(const GroupMoments& sums) const {
    const auto shares = (sums.shared_variance / sums.variance).clamp(0, 1);
    if (!has_pairs() || places_.empty()) return shares;
    const auto places = nd::tensor(places_, nd::kLong);
    const auto shared = sums.shared.index_select(0, places).index_select(1, places);
    const auto deviation = shared.diagonal().sqrt();
    const auto correlations =
        (shared / deviation.unsqueeze(0) / deviation.unsqueeze(1)).clamp(-1, 1);
    return nd::cat({shares, correlations.flatten()});
  }

  /// Of one member, over its batches: variances and covariances are added up.
  Array values_of_member(std::int64_t member) const {
    GroupMoments sums;
    const auto add = [](Array& sum, const Array& value) {
      if (value.defined()) sum = sum.defined() ? sum + value : value;
    };
    for (auto batch = member; batch < std::ssize(batches_);
         batch += std::ssize(members_)) {
      const auto& own = batches_[to_size(batch)];
      add(sums.variance, own.variance);
      add(sums.shared_variance, own.shared_variance);
      add(sums.shared, own.shared);
    }
    return values_of(sums);
  }

  /// Those of all members, [K, v].
  Array values_of_members() const {
    std::vector<Array> all;
    for (std::int64_t member = 0; member < std::ssize(members_); ++member) {
      all.push_back(values_of_member(member));
    }
    return nd::stack(all);
  }

  /// The square of the Monte Carlo error of values_of_member(), the mean over the
  /// members: from the spread of their batches.
  Array squared_error_of_member() const {
    const auto count = std::ssize(members_);
    const auto each = std::ssize(batches_) / count;
    std::vector<Array> values;
    for (const auto& batch : batches_) values.push_back(values_of(batch).nan_to_num());
    return nd::stack(values).view({each, count, -1}).var(0).mean(0) /
           static_cast<double>(each);
  }

  /// Of the median of the members.
  Array monte_carlo_error() const {
    const auto count = static_cast<double>(members_.size());
    return (squared_error_of_member() / count).sqrt() *
           (count > 2 ? kErrorOfMedian : 1);
  }

  bool is_precise() const {
    return monte_carlo_error()
        .narrow(0, 0, columns_)
        .le(kWantedError)
        .all()
        .item<bool>();
  }

  /// Of columns as they are where draws say what share they have on their own scale,
  /// else of their normal scores: not where few batches have most of the variance.
  std::vector<std::int64_t> find_places() const {
    const auto error = monte_carlo_error();
    std::vector<Array> all;
    for (const auto& batch : batches_) all.push_back(batch.variance);
    const auto variances = nd::stack(all);
    const auto even = variances.sum(0).square() >
                      0.5 * static_cast<double>(all.size()) * variances.square().sum(0);
    std::vector<std::int64_t> places;
    for (std::int64_t column = 0; column < columns_; ++column) {
      const bool is_known =
          even[column].item<bool>() && error[column].item<double>() <= kWantedError;
      places.push_back(is_known ? column : columns_ + column);
    }
    return places;
  }

  /// What every member differs from their median, without what is Monte Carlo error:
  /// [K, v].
  Array deviations_of_members(const Array& median) const {
    const auto all = (values_of_members() - median).nan_to_num();
    const auto spread =
        all.square().sum(0) / std::max(1.0, static_cast<double>(members_.size()) - 1);
    const auto kept = (1 - squared_error_of_member() / spread).nan_to_num().clamp(0, 1);
    return all * kept.sqrt();
  }

  /// Differences that errors of the latents' covariances make to a batch of the same
  /// numbers, and those of members.
  Array differences(const Array& value) {
    const auto of_members = deviations_of_members(value);
    std::vector<Array> all;
    for (std::int64_t draw = 0; draw < kErrorDraws; ++draw) {
      const auto batch = draw % std::ssize(batches_);
      auto random = random_of(seed_, Draw::errors, draw);
      const auto moved =
          moments(batch, member_of(batch).parts_with_errors(way_, random));
      all.push_back(
          (values_of(moved) - values_of(batches_[to_size(batch)])).nan_to_num() +
          of_members[number_of_member(batch)]);
    }
    return nd::stack(all);
  }

  Estimates estimates() {
    // A flow that is off blurs what rows share, so that few such members pull a mean.
    const auto value = nd::nanquantile(values_of_members(), 0.5, 0);
    const auto error = monte_carlo_error();
    const auto sorted = std::get<0>(differences(value).sort(0));
    const auto outside = static_cast<std::int64_t>(0.5 * (1 - kInterval) * kErrorDraws);
    const auto median = sorted[kErrorDraws / 2];
    const auto widened = [&](const Array& reach) {
      return (reach.square() + (kReach * error).square()).sqrt();
    };
    auto least = nd::zeros_like(value);
    least.narrow(0, 2 * columns_, value.size(0) - 2 * columns_).fill_(-1);
    return {
        .value = value,
        .low = (value - widened(median - sorted[outside])).maximum(least),
        .high =
            (value + widened(sorted[kErrorDraws - 1 - outside] - median)).clamp_max(1),
        .error = error};
  }

  const std::vector<MemberParts>& members_;
  Way way_;
  Array context_;  // of the training rows, undefined without
  std::uint64_t seed_;
  std::int64_t columns_;
  std::int64_t rows_of_batch_ = 0;
  std::vector<GroupMoments> batches_;  // those of the members in turn
  std::vector<std::int64_t> places_;   // of the columns among the moments
};

nlohmann::json shared_parts(const FittedDependence& fitted, const FitRequest& request,
                            const TableRows& rows, const Model& model) {
  const auto device = find_device(request.device);
  std::vector<MemberParts> members;
  for (std::int64_t i = 0; i < std::min(model.members(), kMostMembers); ++i) {
    members.emplace_back(model.member(i), *fitted.law, rows.times.values, device);
  }
  auto all = nlohmann::json::array();
  for (auto& way : ways_of(model.dependence, request.data.dependence, rows.times)) {
    all.push_back(
        GroupSimulation(members, way, rows.context, request.train.seed).json());
  }
  return all;
}

}  // namespace

void add_shared_parts(const FittedDependence& fitted, const FitRequest& request,
                      const TableRows& rows, Model& model, Logger& logger) {
  const auto kind = model.dependence.kind;
  if (fitted.law->parameter_count() == 0 || kind == DependenceKind::independent ||
      kind == DependenceKind::unstructured) {
    return;
  }
  try {
    model.record["shared_parts"] = shared_parts(fitted, request, rows, model);
  } catch (const std::exception& error) {
    logger.warning(fmt::format("no shares of variance: {}", error.what()));
  }
}

}  // namespace kinflow
