// How the cost of every dependence structure grows with the rows: a table and a
// picture.
//
//     benchmark_dependence_scale [FOLDER]    writes its section of
//                                            FOLDER/benchmarks.md, and
//                                            FOLDER/img/dependence_scale.png
//     benchmark_dependence_scale FOLDER NAME    only structures with NAME in their
//                                            names; writes nothing
//     benchmark_dependence_scale FOLDER --draw    the picture again, from the page
//
// One core, 10 latent columns, batches of 256 rows. Every case runs in a process of its
// own, so that its peak memory is its own.
#include <fmt/format.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "dependence_cases.h"
#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/dependence/iterative_relationship.h"
#include "kinflow/dependence/relationship.h"
#include "kinflow/report/figure.h"
#include "kinflow/report/text_table.h"
#include "measure.h"
#include "page_section.h"

namespace kinflow {
namespace {

constexpr std::int64_t kColumns = 10;
constexpr std::int64_t kBatch = 256;
constexpr std::int64_t kLapackRows = 5000;
/// The most rows for which the iterative way is compared with a decomposition.
constexpr std::int64_t kMostDecomposed = 4000;
constexpr double kLambda = 0.4;
constexpr const char* kSection = "dependence structures";

/// What one case costs. Plain numbers, so that it can go through a pipe.
struct Cost {
  double set_up_seconds = 0;
  double value_and_gradient_seconds = 0;
  double step_milliseconds = 0;
  double peak_megabytes = 0;
};

/// Distinct rows, one of each of as many equal parts.
Array some_rows(std::int64_t rows, std::int64_t count, Random& random) {
  std::vector<std::int64_t> members;
  for (std::int64_t j = 0; j < count; ++j) {
    members.push_back(rows * j / count + random.below(rows / count));
  }
  return nd::tensor(members, nd::kLong);
}

Cost measure(const Structure& structure, std::int64_t rows) {
  set_threads(1);
  Random random(1);
  Cost cost;
  const MakeLaw make = structure.prepare(rows, random);
  std::unique_ptr<Dependence> law;
  cost.set_up_seconds = seconds_of([&] { law = make(); });
  const Array latents = normal({1, rows, kColumns}, random);
  // Parameters move as they do in training, so that nothing is kept from step to step.
  Array unconstrained =
      law->to_unconstrained(nd::full({1, law->parameter_count()}, 0.4, nd::kDouble));
  const auto next_parameters = [&] {
    unconstrained.select(1, 0) += 1e-3;
    return law->from_unconstrained(unconstrained);
  };
  std::vector<double> times;
  for (int i = 0; i < 3; ++i) {
    times.push_back(seconds_of([&] {
      const Array parameters = next_parameters();
      law->log_density(parameters, latents);
      law->precision_times(parameters, latents);
      law->parameter_gradient(parameters, latents);
    }));
  }
  cost.value_and_gradient_seconds = median(times);
  const auto memory = law->make_memory();
  memory->reset(latents);
  const std::int64_t batch = std::min(kBatch, rows);
  times.clear();
  for (int i = 0; i < 21; ++i) {
    const Array chosen = some_rows(rows, batch, random);
    const Array fresh = normal({1, batch, kColumns}, random);
    const Array parameters = next_parameters();
    times.push_back(seconds_of([&] {
      memory->update(chosen, fresh);
      memory->precision_rows(parameters, chosen);
      memory->parameter_gradient(parameters);
    }));
  }
  cost.step_milliseconds = 1e3 * median(times);
  cost.peak_megabytes = peak_megabytes();
  return cost;
}

/// Processor seconds of decompose_relationship() as the set-up and of LAPACK's dsyevd
/// alone as the value, the better of two interleaved runs each.
Cost measure_lapack() {
  set_threads(1);
  Random random(2);
  const Array matrix = full_rank_relationship(kLapackRows, random);
  double bare = std::numeric_limits<double>::infinity(), ours = bare;
  for (int i = 0; i < 2; ++i) {
    Array vectors = matrix.clone(), values = nd::empty({kLapackRows}, nd::kDouble);
    bare = std::min(bare, processor_seconds_of([&] {
                      LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', kLapackRows,
                                     vectors.data_ptr<double>(), kLapackRows,
                                     values.data_ptr<double>());
                    }));
    ours =
        std::min(ours, processor_seconds_of([&] { decompose_relationship(matrix); }));
  }
  return {.set_up_seconds = ours, .value_and_gradient_seconds = bare};
}

/// The iterative way and a decomposition on the same matrix.
struct Comparison {
  double set_up_seconds = 0;
  double solution_seconds = 0;
  double iterations = 0;
  double log_det = 0;
  double reported_error = 0;
  double decomposition_seconds = std::numeric_limits<double>::quiet_NaN();
  double true_error = std::numeric_limits<double>::quiet_NaN();
};

Comparison compare_with_decomposition(std::int64_t rows, bool is_float32) {
  set_threads(1);
  Random random(3);
  const Array matrix = genetic_relationship(rows, random);
  const Array right = normal({rows, kColumns}, random);
  Comparison result;
  std::unique_ptr<IterativeRelationship> law;
  const Array stored = is_float32 ? matrix.to(nd::kFloat) : matrix;
  result.set_up_seconds = seconds_of([&] {
    law = std::make_unique<IterativeRelationship>(
        std::make_shared<DenseRelationshipOperator>(stored));
  });
  result.solution_seconds = seconds_of([&] {
    result.iterations = static_cast<double>(
        law->solve(right, nd::full({kColumns}, kLambda, nd::kDouble), 1e-8).iterations);
  });
  const LogDetEstimate estimate = law->log_det_estimate(kLambda);
  result.log_det = estimate.value;
  result.reported_error = estimate.error;
  if (rows > kMostDecomposed || is_float32) return result;
  std::unique_ptr<Relationship> exact;
  result.decomposition_seconds =
      seconds_of([&] { exact = std::make_unique<Relationship>(matrix); });
  result.true_error =
      std::abs(estimate.value -
               exact->log_det(nd::full({1, 1}, kLambda, nd::kDouble)).item<double>());
  return result;
}

/// Logarithms of one kind of cost, one line for each structure.
class LogPanel {
 public:
  LogPanel(std::string title, const std::string& unit, double Cost::*cost)
      : cost_(cost) {
    panel_.title = std::move(title);
    panel_.x_label = "rows, powers of 10";
    panel_.y_label = unit + ", powers of 10";
  }
  void begin(const std::string& name, std::size_t number) {
    panel_.layers.emplace_back(Series{.name = name,
                                      .color = category_color(number % kCategoryColors),
                                      .dashed = number >= kCategoryColors});
  }
  void add(std::int64_t rows, const Cost& cost) {
    auto& series = std::get<Series>(panel_.layers.back());
    series.x.push_back(std::log10(static_cast<double>(rows)));
    series.y.push_back(std::log10(cost.*cost_));
  }
  /// The panel; one with a legend has room for it below the lines.
  Panel panel() const {
    Panel result = panel_;
    if (std::get<Series>(panel_.layers.front()).name.empty()) return result;
    const Limits limits = limits_of_layers(panel_.layers, /*is_x=*/false);
    result.y = Limits{limits.low - (limits.high - limits.low), limits.high};
    return result;
  }

 private:
  Panel panel_;
  double Cost::*cost_;
};

std::string with_commas(std::int64_t number) {
  if (number < 1000) return std::to_string(number);
  return fmt::format("{},{:03}", with_commas(number / 1000), number % 1000);
}

/// The section of the documentation.
std::string section(const TextTable& table, const std::string& comparison,
                    const std::string& iterative) {
  return fmt::format(
      "## Dependence structures\n\n"
      "Written by `benchmarks/dependence_scale.cpp` (configure with "
      "`-DKINFLOW_BENCHMARKS=ON`): one core, {} latent columns,\nfloat64. *Value and "
      "gradients* is the log-density, $C^{{-1}}U$ of all rows and the gradient in the "
      "parameters. *Step* is the\ndependence's part of a joint training step with the "
      "memory and {} rows: update, rows of $C^{{-1}}U$, gradient in the "
      "parameters.\nPeak memory includes the program and the input. A sum is "
      "factorised "
      "anew in each step, because its weights move.\nThe memory of an iterative "
      "relationship solves for all rows about four times an epoch, which is not in its "
      "steps.\n\n{}\n{}\n\n"
      "{}\n"
      "![How costs grow with the rows](img/dependence_scale.png)\n",
      kColumns, kBatch, table.markdown(), comparison, iterative);
}

/// What the iterative way costs and how far its log det C is off, with and without
/// float32 storage.
std::string iterative_table() {
  TextTable table({{"rows"},
                   {"storage", Align::kLeft},
                   {"set-up, s"},
                   {"solution, s"},
                   {"iterations"},
                   {"log det C"},
                   {"95% bound"},
                   {"true error"},
                   {"decomposition, s"}});
  for (const std::int64_t rows : {4000, 8000, 16000}) {
    for (const bool is_float32 : {false, true}) {
      const auto found = in_own_process<Comparison>(
          [&] { return compare_with_decomposition(rows, is_float32); });
      const auto known = [](double value) {
        return std::isnan(value) ? std::string() : fmt::format("{:.3g}", value);
      };
      table.add_row({with_commas(rows), is_float32 ? "float32" : "float64",
                     fmt::format("{:.3g}", found.set_up_seconds),
                     fmt::format("{:.3g}", found.solution_seconds),
                     fmt::format("{:.0f}", found.iterations),
                     fmt::format("{:.6g}", found.log_det),
                     fmt::format("{:.2g}", found.reported_error),
                     known(found.true_error), known(found.decomposition_seconds)});
    }
  }
  return fmt::format(
      "Iterative and complete treatment of a relationship matrix of {} markers and "
      "five "
      "populations, at $\\lambda$ = {}:\na solution for {} columns to a relative "
      "residual of 1e-8, and $\\log\\det C$ with its reported bound.\n\n{}",
      with_commas(kMarkers), kLambda, kColumns, table.markdown());
}

/// What one structure cost with so many rows.
struct Measurement {
  std::string structure;
  std::int64_t rows;
  Cost cost;
};

/// The measurements of a section that was written before.
std::vector<Measurement> read_page(const std::filesystem::path& page) {
  std::istringstream file(split_page(page, kSection).section);
  std::vector<Measurement> measurements;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::istringstream rest(line);
    for (std::string cell; std::getline(rest, cell, '|');) cells.push_back(cell);
    if (cells.size() < 7 || cells.size() > 8) continue;
    std::erase(cells[2], ',');
    double numbers[5];
    bool is_measurement = true;
    for (std::size_t i = 0; i < 5; ++i) {
      is_measurement =
          is_measurement && std::sscanf(cells[i + 2].c_str(), "%lf", &numbers[i]) == 1;
    }
    if (!is_measurement) continue;
    const auto name = cells[1].substr(1, cells[1].size() - 2);
    measurements.push_back({name,
                            static_cast<std::int64_t>(numbers[0]),
                            {numbers[1], numbers[2], numbers[3], numbers[4]}});
  }
  return measurements;
}

void draw(const std::vector<Measurement>& measurements,
          const std::filesystem::path& folder) {
  std::vector<LogPanel> panels = {
      {"Set-up", "seconds", &Cost::set_up_seconds},
      {"Value and gradients", "seconds", &Cost::value_and_gradient_seconds},
      {"Training step", "milliseconds", &Cost::step_milliseconds},
      {"Peak memory", "megabytes", &Cost::peak_megabytes}};
  std::size_t number = 0;
  std::string last;
  for (const auto& [structure, rows, cost] : measurements) {
    for (LogPanel& panel : panels) {
      if (structure != last) {
        panel.begin(&panel == &panels[0] ? structure : "", number);
      }
      panel.add(rows, cost);
    }
    number += structure != last;
    last = structure;
  }
  std::vector<Panel> drawn;
  for (const LogPanel& panel : panels) drawn.push_back(panel.panel());
  std::filesystem::create_directories(folder / "img");
  draw_figure(drawn, {.columns = 2, .panel_width = 300, .panel_height = 230})
      .save((folder / "img" / "dependence_scale.png").string());
}

void run(const std::filesystem::path& folder, const std::string& only) {
  if (only == "--draw") return draw(read_page(folder / "benchmarks.md"), folder);
  TextTable table({{"structure", Align::kLeft},
                   {"rows"},
                   {"set-up, s"},
                   {"value and gradients, s"},
                   {"step, ms"},
                   {"peak memory, MB"}});
  std::vector<Measurement> measurements;
  for (const Structure& structure : structures()) {
    if (structure.name.find(only) == std::string::npos) continue;
    for (const std::int64_t rows : structure.sizes) {
      const Cost cost = in_own_process<Cost>([&] { return measure(structure, rows); });
      measurements.push_back({structure.name, rows, cost});
      table.add_row({structure.name, with_commas(rows),
                     fmt::format("{:.3g}", cost.set_up_seconds),
                     fmt::format("{:.3g}", cost.value_and_gradient_seconds),
                     fmt::format("{:.3g}", cost.step_milliseconds),
                     fmt::format("{:.0f}", cost.peak_megabytes)});
      fmt::print("{} {}: {:.3g} s, {:.3g} s, {:.3g} ms, {:.0f} MB\n", structure.name,
                 rows, cost.set_up_seconds, cost.value_and_gradient_seconds,
                 cost.step_milliseconds, cost.peak_megabytes);
      std::fflush(stdout);
    }
  }
  const bool compares = std::string("iterative, dense").find(only) != std::string::npos;
  const std::string iterative = compares ? iterative_table() : "";
  if (!only.empty()) {
    fmt::print("\n{}\n{}\n", table.plain(), iterative);
    return;
  }
  const Cost lapack = in_own_process<Cost>(measure_lapack);
  const double ours = lapack.set_up_seconds, bare = lapack.value_and_gradient_seconds;
  const std::string comparison = fmt::format(
      "The decomposition of a dense matrix of {} rows takes {:.1f} s of the processor, "
      "LAPACK's `dsyevd` alone {:.1f} s: a ratio of {:.2f}.",
      with_commas(kLapackRows), ours, bare, ours / bare);
  fmt::print("\n{}\n{}\n{}\n", table.plain(), comparison, iterative);
  draw(measurements, folder);
  replace_section(folder / "benchmarks.md", kSection,
                  section(table, comparison, iterative));
}

}  // namespace
}  // namespace kinflow

int main(int count, char** arguments) {
  kinflow::run(count > 1 ? arguments[1] : "docs", count > 2 ? arguments[2] : "");
  return 0;
}
