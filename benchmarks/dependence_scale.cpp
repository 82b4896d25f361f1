// How the cost of every dependence structure grows with the rows: a table and a
// picture.
//
//     benchmark_dependence_scale [FOLDER]    writes FOLDER/benchmarks.md and
//                                            FOLDER/img/dependence_scale.png
//     benchmark_dependence_scale FOLDER NAME    only structures with NAME in their
//                                            names; writes nothing
//     benchmark_dependence_scale FOLDER --draw    the picture again, from the page
//
// One core, 10 latent columns, batches of 256 rows. Every case runs in a process of its
// own, so that its peak memory is its own.
#include <ATen/ATen.h>
#include <fmt/format.h>
#include <lapacke.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kinflow/core/atomic_file.h"
#include "kinflow/core/device.h"
#include "kinflow/core/random.h"
#include "kinflow/dependence/blocks.h"
#include "kinflow/dependence/families.h"
#include "kinflow/dependence/gaussian_time.h"
#include "kinflow/dependence/iterative_relationship.h"
#include "kinflow/dependence/markov_time.h"
#include "kinflow/dependence/relationship.h"
#include "kinflow/dependence/relationship_matrices.h"
#include "kinflow/dependence/relationship_sum.h"
#include "kinflow/dependence/unstructured.h"
#include "kinflow/report/figure.h"
#include "kinflow/report/text_table.h"

namespace kinflow {
namespace {

constexpr std::int64_t kColumns = 10;
constexpr std::int64_t kBatch = 256;
constexpr std::int64_t kRank = 40;
constexpr std::int64_t kLapackRows = 5000;
constexpr std::int64_t kMarkers = 4000;
/// The most rows for which the iterative way is compared with a decomposition.
constexpr std::int64_t kMostDecomposed = 4000;
constexpr double kLambda = 0.4;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Seconds of the processor, which other programs disturb less.
double processor_seconds_of(const std::function<void()>& work) {
  const auto now = [] {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

at::Tensor normal(at::IntArrayRef shape, Random& random) {
  at::Tensor result = at::empty(shape, at::kDouble);
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.data_ptr<double>()[i] = random.normal();
  }
  return result;
}

double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// What one case costs. Plain numbers, so that it can go through a pipe.
struct Cost {
  double set_up_seconds = 0;
  double value_and_gradient_seconds = 0;
  double step_milliseconds = 0;
  double peak_megabytes = 0;
};

/// The input of a structure is made first, and is no part of its set-up.
using MakeLaw = std::function<std::unique_ptr<Dependence>()>;

struct Structure {
  std::string name;
  std::vector<std::int64_t> sizes;
  std::function<MakeLaw(std::int64_t rows, Random& random)> prepare;
};

/// Families of four siblings; `alike` ones have the same relationships.
CompressedRows siblings(std::int64_t rows, bool alike, Random& random) {
  CompressedRows result;
  result.row_starts.push_back(0);
  for (std::int64_t first = 0; first < rows; first += 4) {
    const double related = alike ? 0.5 : random.uniform(0.3, 0.7);
    for (std::int64_t i = first; i < first + 4; ++i) {
      for (std::int64_t j = first; j < first + 4; ++j) {
        result.columns.push_back(j);
        result.values.push_back(i == j ? 1 : related);
      }
      result.row_starts.push_back(static_cast<std::int64_t>(result.columns.size()));
    }
  }
  return result;
}

at::Tensor full_rank_relationship(std::int64_t rows, Random& random) {
  const at::Tensor factor = normal({rows, rows}, random);
  return at::mm(factor, factor.t()) / static_cast<double>(rows);
}

/// Z Z'/m of standard normal markers with a frequency of their own in each of five
/// populations: four eigenvalues stand out.
at::Tensor genetic_relationship(std::int64_t rows, Random& random) {
  const at::Tensor population = at::arange(rows, at::kLong).remainder(5);
  at::Tensor scores = normal({rows, kMarkers}, random);
  scores += 0.3 * normal({5, kMarkers}, random).index_select(0, population);
  scores -= scores.mean(0, /*keepdim=*/true);
  return at::mm(scores, scores.t()).div_(static_cast<double>(kMarkers));
}

/// Rows on a square grid, related to their neighbours: one connected component.
CompressedRows grid(std::int64_t rows) {
  const auto width = static_cast<std::int64_t>(std::sqrt(static_cast<double>(rows)));
  CompressedRows result;
  result.row_starts.push_back(0);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (const std::int64_t step :
         {-width, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, width}) {
      const std::int64_t j = i + step;
      const bool is_inside = j >= 0 && j < rows;
      // The last of a line has no neighbour in the next one.
      const bool is_break = std::abs(step) == 1 && i / width != j / width;
      if (!is_inside || is_break) continue;
      result.columns.push_back(j);
      result.values.push_back(step == 0 ? 1 : 0.22);
    }
    result.row_starts.push_back(static_cast<std::int64_t>(result.columns.size()));
  }
  return result;
}

std::vector<Structure> structures() {
  const std::vector<std::int64_t> large = {10000, 50000, 200000, 1000000};
  return {
      {"blocks of 5", large,
       [](std::int64_t rows, Random&) -> MakeLaw {
         const at::Tensor labels = at::arange(rows, at::kLong).floor_divide(5);
         return [=] { return std::make_unique<Blocks>(labels); };
       }},
      {"dense",
       {500, 1000, 2000, 5000},
       [](std::int64_t rows, Random& random) -> MakeLaw {
         const at::Tensor matrix = full_rank_relationship(rows, random);
         return [=] { return std::make_unique<Relationship>(matrix); };
       }},
      {"low rank, k = 40",
       {10000, 50000, 200000, 500000},
       [](std::int64_t rows, Random& random) -> MakeLaw {
         const at::Tensor components = normal({rows, kRank}, random);
         return [=] {
           return std::make_unique<Relationship>(
               decompose_factor(principal_component_factor(components)));
         };
       }},
      {"families of 4, alike", large,
       [](std::int64_t rows, Random& random) -> MakeLaw {
         return [matrix = siblings(rows, true, random)] {
           return std::make_unique<Families>(matrix);
         };
       }},
      {"families of 4, different", large,
       [](std::int64_t rows, Random& random) -> MakeLaw {
         return [matrix = siblings(rows, false, random)] {
           return std::make_unique<Families>(matrix);
         };
       }},
      {"iterative, dense",
       {2000, 4000, 8000, 16000},
       [](std::int64_t rows, Random& random) -> MakeLaw {
         const at::Tensor matrix = genetic_relationship(rows, random);
         return [=] {
           return std::make_unique<IterativeRelationship>(
               std::make_shared<DenseRelationshipOperator>(matrix));
         };
       }},
      {"iterative, sparse grid",
       {10000, 50000, 200000, 1000000},
       [](std::int64_t rows, Random&) -> MakeLaw {
         return [matrix = grid(rows)] {
           return std::make_unique<IterativeRelationship>(
               std::make_shared<SparseRelationshipOperator>(matrix));
         };
       }},
      {"Markov time", large,
       [](std::int64_t rows, Random& random) -> MakeLaw {
         const at::Tensor gaps = normal({rows}, random).abs();
         return
             [times = gaps.cumsum(0)] { return std::make_unique<MarkovTime>(times); };
       }},
      {"Gaussian time",
       {250, 500, 1000, 2000},
       [](std::int64_t rows, Random& random) -> MakeLaw {
         const at::Tensor gaps = normal({rows}, random).abs();
         return
             [times = gaps.cumsum(0)] { return std::make_unique<GaussianTime>(times); };
       }},
      {"sum of families and blocks", large,
       [](std::int64_t rows, Random&) -> MakeLaw {
         const at::Tensor order = at::arange(rows, at::kLong);
         const std::vector<SumPart> parts = {block_rows(order.floor_divide(4)),
                                             block_rows(order.floor_divide(8))};
         return [=] { return std::make_unique<RelationshipSum>(parts); };
       }},
      {"sum of 2, dense",
       {250, 500, 1000, 2000},
       [](std::int64_t rows, Random& random) -> MakeLaw {
         const std::vector<SumPart> parts = {
             full_rank_relationship(rows, random),
             block_rows(at::arange(rows, at::kLong).floor_divide(5))};
         return [=] { return std::make_unique<RelationshipSum>(parts); };
       }},
      {"unstructured",
       {50, 100, 200, 400},
       [](std::int64_t rows, Random&) -> MakeLaw {
         return [=] { return std::make_unique<Unstructured>(rows); };
       }},
  };
}

/// Distinct rows, one of each of as many equal parts.
at::Tensor some_rows(std::int64_t rows, std::int64_t count, Random& random) {
  std::vector<std::int64_t> members;
  for (std::int64_t j = 0; j < count; ++j) {
    members.push_back(rows * j / count + random.below(rows / count));
  }
  return at::tensor(members, at::kLong);
}

Cost measure(const Structure& structure, std::int64_t rows) {
  set_threads(1);
  Random random(1);
  Cost cost;
  const MakeLaw make = structure.prepare(rows, random);
  std::unique_ptr<Dependence> law;
  cost.set_up_seconds = seconds_of([&] { law = make(); });
  const at::Tensor latents = normal({1, rows, kColumns}, random);
  // Parameters move as they do in training, so that nothing is kept from step to step.
  at::Tensor unconstrained =
      law->to_unconstrained(at::full({1, law->parameter_count()}, 0.4, at::kDouble));
  const auto next_parameters = [&] {
    unconstrained.select(1, 0) += 1e-3;
    return law->from_unconstrained(unconstrained);
  };
  std::vector<double> times;
  for (int i = 0; i < 3; ++i) {
    times.push_back(seconds_of([&] {
      const at::Tensor parameters = next_parameters();
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
    const at::Tensor chosen = some_rows(rows, batch, random);
    const at::Tensor fresh = normal({1, batch, kColumns}, random);
    const at::Tensor parameters = next_parameters();
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
  const at::Tensor matrix = full_rank_relationship(kLapackRows, random);
  double bare = std::numeric_limits<double>::infinity(), ours = bare;
  for (int i = 0; i < 2; ++i) {
    at::Tensor vectors = matrix.clone(), values = at::empty({kLapackRows}, at::kDouble);
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
  const at::Tensor matrix = genetic_relationship(rows, random);
  const at::Tensor right = normal({rows, kColumns}, random);
  Comparison result;
  std::unique_ptr<IterativeRelationship> law;
  const at::Tensor stored = is_float32 ? matrix.to(at::kFloat) : matrix;
  result.set_up_seconds = seconds_of([&] {
    law = std::make_unique<IterativeRelationship>(
        std::make_shared<DenseRelationshipOperator>(stored));
  });
  result.solution_seconds = seconds_of([&] {
    result.iterations = static_cast<double>(
        law->solve(right, at::full({kColumns}, kLambda, at::kDouble), 1e-8).iterations);
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
               exact->log_det(at::full({1, 1}, kLambda, at::kDouble)).item<double>());
  return result;
}

/// Runs the work in a process of its own.
template <typename Result>
Result in_own_process(const std::function<Result()>& work) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    try {
      const Result result = work();
      _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      _exit(1);
    }
  }
  close(ends[1]);
  Result result;
  const bool is_read = read(ends[0], &result, sizeof result) == sizeof result;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!is_read) throw std::runtime_error("a case failed");
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

/// The page of the documentation.
std::string page(const TextTable& table, const std::string& comparison,
                 const std::string& iterative) {
  return fmt::format(
      "# Benchmarks\n\n## Dependence structures\n\n"
      "Written by `benchmarks/dependence_scale.cpp` (configure with "
      "`-DKINFLOW_BENCHMARKS=ON`): one core, {} latent columns,\nfloat64. *Value and "
      "gradients* is the log-density, $C^{{-1}}U$ of all rows and the gradient in the "
      "parameters. *Step* is the\ndependence's part of a joint training step with the "
      "memory and {} rows: update, rows of $C^{{-1}}U$, gradient in the "
      "parameters.\nPeak memory includes LibTorch and the input. A sum is factorised "
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

/// The measurements of a page that was written before.
std::vector<Measurement> read_page(const std::filesystem::path& page) {
  std::ifstream file(page);
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
  write_file_atomically((folder / "benchmarks.md").string(),
                        page(table, comparison, iterative));
}

}  // namespace
}  // namespace kinflow

int main(int count, char** arguments) {
  kinflow::run(count > 1 ? arguments[1] : "docs", count > 2 ? arguments[2] : "");
  return 0;
}
