// Choosing rows by hashes of their numbers, so that the same run gives the same page.
#include "kinflow/pages/model/run_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/core/size.h"
#include "kinflow/data/label_key.h"
#include "kinflow/data/table_reader.h"
#include "kinflow/fit/run_folder.h"
#include "kinflow/pages/record_lookup.h"

namespace kinflow {
namespace {

constexpr std::int64_t kRowsOfPiece = 1 << 16;

// A number in [0, 1) that stands for a row or a unit (splitmix64).
double place_of(std::uint64_t number) {
  std::uint64_t x = number * 0x9e3779b97f4a7c15ULL + 0x632be59bd9b4e019ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

double place_of_row(std::int64_t row) {
  return place_of(static_cast<std::uint64_t>(row));
}

// The largest place that lets about `wanted` of `count` through, with a little more.
double threshold(std::int64_t wanted, std::int64_t count) {
  return std::min(1.0, 1.1 * static_cast<double>(wanted + 50) /
                           static_cast<double>(std::max<std::int64_t>(count, 1)));
}

using RowMarks = std::unordered_map<std::int64_t, std::size_t>;  // to a held-out entry

struct Wanted {
  double shown = 1;  ///< rows whose place is below it
  bool all_related = false;
  std::unordered_set<std::int64_t> related;  // rows of the table
  std::unordered_set<std::string> groups;    // keys of labels
  std::int64_t first_related = 0;            // or so many rows from the top
  std::unordered_set<std::int64_t> lowest;   // rows of the table
};

// Units in the order of their hashes, those of several rows first.
void choose_units(const HeldOutScores& scores, Wanted& wanted) {
  const auto units = *std::max_element(scores.unit.begin(), scores.unit.end());
  std::vector<std::int64_t> size(to_size(units + 1), 0);
  for (const auto unit : scores.unit) ++size[to_size(unit)];
  std::vector<std::int64_t> order(size.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const bool several_a = size[to_size(a)] > 1, several_b = size[to_size(b)] > 1;
    if (several_a != several_b) return several_a;
    return place_of_row(a) < place_of_row(b);
  });
  std::vector<std::int64_t> left(size.size(), 0);
  std::int64_t rows = 0;
  for (const auto unit : order) {
    const auto part = std::min(size[to_size(unit)], kLargestPartOfUnit);
    if (rows + part > kRelatedRows) continue;
    left[to_size(unit)] = part;
    rows += part;
  }
  for (std::size_t i = 0; i < scores.row.size(); ++i) {
    if (left[to_size(scores.unit[i])]-- > 0) wanted.related.insert(scores.row[i]);
  }
}

void choose_groups(const LearnedDependence& learned, Wanted& wanted) {
  std::vector<std::size_t> order(learned.labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [](std::size_t a, std::size_t b) { return place_of(a) < place_of(b); });
  std::int64_t rows = 0;
  for (const auto i : order) {
    const auto part = std::min(learned.sizes[i], kLargestPartOfUnit);
    if (rows + part > kRelatedRows) continue;
    wanted.groups.insert(label_key(learned.labels[i]));
    rows += part;
  }
}

std::vector<std::size_t> lowest_of(const HeldOutScores& scores) {
  std::vector<std::size_t> order(scores.row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto count = std::min(kLowestRows, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                    order.end(), [&](std::size_t a, std::size_t b) {
                      return scores.log_density[a] < scores.log_density[b];
                    });
  order.resize(count);
  return order;
}

// Chosen rows of the pieces of a table, one piece after the other.
class Chosen {
 public:
  void add(const TableRows& piece, const std::vector<std::int64_t>& rows) {
    if (!rows.empty()) {
      auto part = select_rows(piece, rows);
      if (all_.data.defined()) {
        all_.table_rows = passed_;
        all_ = append_rows(all_, part);
      } else {
        for (auto& row : part.kept_rows) row += passed_;
        all_ = std::move(part);
      }
    }
    passed_ += piece.table_rows;
  }
  TableRows take() {
    all_.table_rows = passed_;
    return std::move(all_);
  }

 private:
  TableRows all_;
  std::int64_t passed_ = 0;
};

void know_folds(SampledRows& sample, const HeldOutScores& scores,
                const RowMarks& marks) {
  const auto rows = to_size(sample.count());
  sample.fold.assign(rows, 0);
  sample.unit.assign(rows, 0);
  if (scores.empty()) return;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto found = marks.find(sample.rows.kept_rows[i]);
    if (found == marks.end()) continue;
    sample.fold[i] = scores.fold[found->second];
    sample.unit[i] = scores.unit[found->second];
  }
}

// The first `most` of a sample by the places of their rows, in the order of the table.
void cut_down(TableRows& rows, std::int64_t most) {
  const auto count = rows.data.defined() ? rows.data.size(0) : 0;
  if (count <= most) return;
  std::vector<std::int64_t> order(to_size(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return place_of_row(rows.kept_rows[to_size(a)]) <
           place_of_row(rows.kept_rows[to_size(b)]);
  });
  order.resize(to_size(most));
  std::sort(order.begin(), order.end());
  const auto table_rows = rows.table_rows;
  rows = select_rows(rows, order);
  rows.table_rows = table_rows;
}

Wanted choose(const RunSample& sample, const Model& model, std::int64_t rows) {
  Wanted wanted;
  wanted.shown = threshold(kShownRows, rows);
  wanted.all_related = rows <= kRelatedRows;
  if (wanted.all_related) return wanted;
  if (!sample.held_out.empty()) {
    choose_units(sample.held_out, wanted);
  } else if (!sample.dependence.group.empty() && !model.dependence.labels.empty()) {
    choose_groups(model.dependence, wanted);
  } else {
    wanted.first_related = kRelatedRows;
  }
  return wanted;
}

void check_table(const RunRecord& run, const std::string& table) {
  std::error_code ignored;
  if (table.empty()) {
    throw InputError("the record does not name the table that was fitted");
  }
  if (!std::filesystem::exists(table, ignored)) {
    throw InputError(table + " is not there any more");
  }
  const auto known = text_at(run.record, "/data_hash");
  if (!known.empty() && file_hash(table) != known) {
    throw InputError(table + " has another content than the run saw");
  }
}

// InputError where some are missing.
HeldOutScores read_all_held_out(const RunRecord& run, const Model& model) {
  const auto path = run.file("held_out.csv");
  auto scores = read_held_out(path);
  const auto rows = static_cast<double>(scores.row.size());
  const double expected = number_at(model.record, "/valid_rows", rows);
  if (!scores.empty() && rows != expected) {
    throw InputError(fmt::format("{}: expected {} rows, found {}", path,
                                 with_commas(expected), with_commas(rows)));
  }
  return scores;
}

}  // namespace

HeldOutScores read_held_out(const std::string& path) {
  HeldOutScores scores;
  std::ifstream file(path);
  if (!file) return scores;
  std::string line;
  std::getline(file, line);
  if (line != "row,fold,unit,weight,log_density_nats") {
    throw InputError(path +
                     ": expected the columns row, fold, unit, weight and "
                     "log_density_nats");
  }
  std::int64_t number = 1;
  while (std::getline(file, line)) {
    ++number;
    std::int64_t row = 0;
    std::int32_t fold = 0, unit = 0;
    double weight = 0, score = 0;
    const char* at = line.data();
    const char* end = at + line.size();
    const auto read = [&](auto& value) {
      const auto result = std::from_chars(at, end, value);
      const bool is_sound =
          result.ec == std::errc() && (result.ptr == end || *result.ptr == ',');
      at = result.ptr == end ? end : result.ptr + 1;
      return is_sound;
    };
    if (!(read(row) && read(fold) && read(unit) && read(weight) && read(score)) ||
        row < 1 || fold < 1 || unit < 1 || unit > 1'000'000'000) {
      throw InputError(fmt::format(
          "{}:{}: expected a row, a fold, a unit and two numbers", path, number));
    }
    scores.row.push_back(row - 1);
    scores.fold.push_back(fold);
    scores.unit.push_back(unit);
    scores.log_density.push_back(score);
  }
  return scores;
}

RunSample sample_run(const RunRecord& run, const Model& model) {
  RunSample sample;
  const auto record =
      run.record.contains("request") ? run.record : nlohmann::json(model.record);
  const auto request = found_at(record, "/request");
  if (!request.is_object()) throw InputError("the record holds no options");
  const JsonReader reader(request, "run.json");
  sample.dependence = dependence_request_from(reader.object("dependence"));
  const auto table = text_at(request, "/data/table");
  check_table(run, table);
  if (!run.directory.empty()) {
    try {
      sample.held_out = read_all_held_out(run, model);
    } catch (const InputError& error) {
      sample.held_out_problem = error.what();
    }
  }
  const auto known_rows = number_at(model.record, "/train_rows", 0);
  const auto expected =
      static_cast<std::int64_t>(known_rows > 0 && known_rows < 1e12 ? known_rows : 1e5);
  auto wanted = choose(sample, model, expected);

  auto columns = columns_for(model, sample.dependence);
  columns.drop_missing = flag_at(request, "/data/drop_missing");
  columns.may_drop_all = true;
  // Which rows are marked, by their places in the table.
  RowMarks marks;
  std::map<std::int64_t, double> score_of;
  for (const auto entry : lowest_of(sample.held_out)) {
    wanted.lowest.insert(sample.held_out.row[entry]);
    score_of[sample.held_out.row[entry]] = sample.held_out.log_density[entry];
  }
  Chosen shown, related, lowest;
  std::unordered_map<std::string, std::int64_t> left_of_group;
  TableReader tables(table);
  std::int64_t passed = 0;
  while (const auto piece = tables.next(kRowsOfPiece)) {
    const auto rows = read_rows(*piece, columns);
    std::vector<std::int64_t> of_shown, of_related, of_lowest;
    for (std::int64_t i = 0; i < rows.data.size(0); ++i) {
      const auto row = passed + rows.kept_rows[to_size(i)];
      if (place_of_row(row) < wanted.shown) of_shown.push_back(i);
      bool is_related = wanted.all_related || wanted.related.contains(row) ||
                        sample.table_rows < wanted.first_related;
      if (!wanted.groups.empty()) {
        const auto key = label_key(rows.labels[to_size(i)]);
        is_related =
            wanted.groups.contains(key) && left_of_group[key]++ < kLargestPartOfUnit;
      }
      if (is_related) of_related.push_back(i);
      if (wanted.lowest.contains(row)) of_lowest.push_back(i);
      ++sample.table_rows;
    }
    shown.add(rows, of_shown);
    related.add(rows, of_related);
    lowest.add(rows, of_lowest);
    passed += piece->rows();
  }
  sample.shown.rows = shown.take();
  sample.related.rows = related.take();
  sample.lowest.rows = lowest.take();
  cut_down(sample.shown.rows, kShownRows);
  if (sample.shown.count() < 2)
    throw InputError(table + ": expected at least two rows");
  sample.related_are_all = sample.related.count() == sample.table_rows;

  std::unordered_set<std::int64_t> taken;
  for (const auto* part : {&sample.shown, &sample.related, &sample.lowest}) {
    taken.insert(part->rows.kept_rows.begin(), part->rows.kept_rows.end());
  }
  for (std::size_t i = 0; i < sample.held_out.row.size(); ++i) {
    if (taken.contains(sample.held_out.row[i])) marks[sample.held_out.row[i]] = i;
  }
  know_folds(sample.shown, sample.held_out, marks);
  know_folds(sample.related, sample.held_out, marks);
  know_folds(sample.lowest, sample.held_out, marks);
  for (const auto row : sample.lowest.rows.kept_rows) {
    sample.lowest_scores.push_back(score_of.at(row));
  }
  return sample;
}

Array held_out_latents(const Model& model, const SampledRows& sample) {
  const auto& rows = sample.rows;
  const auto members = found_at(model.record, "/members");
  // The first member of a fold is its best.
  std::map<std::int64_t, std::int64_t> member_of_fold;
  for (std::int64_t i = 0; members.is_array() && i < std::ssize(members); ++i) {
    const auto fold = number_at(members[to_size(i)], "/fold");
    if (std::isfinite(fold) && i < model.members()) {
      member_of_fold.emplace(static_cast<std::int64_t>(fold), i);
    }
  }
  std::map<std::int64_t, std::vector<std::int64_t>> rows_of_member;
  for (std::size_t i = 0; i < to_size(sample.count()); ++i) {
    const auto found = member_of_fold.find(sample.fold.at(i));
    // -1: the flow of all rows, or the only one.
    rows_of_member[found == member_of_fold.end() ? -1 : found->second].push_back(
        static_cast<std::int64_t>(i));
  }
  auto latents = nd::empty(rows.data.sizes(), nd::kDouble);
  for (const auto& [member, places] : rows_of_member) {
    const auto part = select_rows(rows, places);
    auto own = member < 0 ? model.single() : model.member(member);
    // Held-out latents are those whose dependence was learned: not calibrated.
    if (member >= 0) own.calibration.reset();
    latents.index_copy_(0, nd::tensor(places, nd::kLong),
                        own.to_latent(part.data, part.context).latents);
  }
  return latents;
}

}  // namespace kinflow
