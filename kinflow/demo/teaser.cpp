// Simulation, fits, a table and a picture.
#include "kinflow/demo/teaser.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kinflow/array/array.h"
#include "kinflow/core/atomic_file.h"
#include "kinflow/core/error.h"
#include "kinflow/core/folder_lock.h"
#include "kinflow/core/output_folder.h"
#include "kinflow/core/version.h"
#include "kinflow/data/simulate.h"
#include "kinflow/evaluate/likelihood.h"
#include "kinflow/evaluate/recovered_correlations.h"
#include "kinflow/fit/fit.h"
#include "kinflow/report/four_panel.h"
#include "kinflow/report/text_table.h"

namespace kinflow {
namespace {

// Says that a folder is that of a teaser, whose files may be replaced.
constexpr const char* kMark = "teaser.json";

std::string picture_of(const std::string& directory) {
  return directory + "/density.png";
}

FolderLock claim_folder(const std::string& directory, bool overwrite) {
  FolderLock::require_free(directory, "demo");
  std::error_code error;
  const auto mark = directory + "/" + kMark;
  if (!std::filesystem::exists(mark, error)) {
    require_free(directory, [](const std::string& name) {
      return name == ".lock" || name.rfind(kMark, 0) == 0;
    });
  }
  require_no_result({picture_of(directory)}, overwrite);
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw InputError(
        fmt::format("{}: cannot make the folder ({})", directory, error.message()));
  }
  FolderLock lock(directory, "demo");
  write_file_atomically(mark,
                        nlohmann::json{{"kinflow_version", version()}}.dump() + "\n");
  remove_result({picture_of(directory), directory + "/" + kReportName});
  return lock;
}

FitResult fit_or_stop(const FitRequest& request, const FitPlace& place,
                      Logger& logger) {
  try {
    return fit(request, place, logger);
  } catch (const Interrupted&) {
    throw Interrupted("interrupted; the same command begins anew");
  }
}

// Table 1 of the paper, column Abs with equicorrelated blocks.
constexpr double kPaperBaseline = 1.513;
constexpr double kPaperGrid = 1.379;

constexpr std::int64_t kGridSide = 220;
constexpr Limits kAcross{-3.5, 3.5};
constexpr Limits kUp{-2.0, 3.0};

// Centres of the cells of the picture, row by row from the low end of y.
std::vector<PlanePoint> grid_points() {
  std::vector<PlanePoint> points;
  const auto centre = [](const Limits& limits, std::int64_t cell) {
    return limits.low + (limits.high - limits.low) * (static_cast<double>(cell) + 0.5) /
                            static_cast<double>(kGridSide);
  };
  for (std::int64_t i = 0; i < kGridSide; ++i) {
    for (std::int64_t j = 0; j < kGridSide; ++j) {
      points.push_back({centre(kAcross, j), centre(kUp, i)});
    }
  }
  return points;
}

DensityGrid empty_grid() {
  return {
      .x = kAcross, .y = kUp, .rows = kGridSide, .columns = kGridSide, .values = {}};
}

DensityGrid true_density(PlaneShape shape) {
  auto grid = empty_grid();
  for (const auto& point : grid_points()) {
    grid.values.push_back(std::exp(shape_log_density(shape, point)));
  }
  return grid;
}

DensityGrid model_density(const Model& model) {
  std::vector<double> flat;
  for (const auto& point : grid_points()) {
    flat.push_back(point.x1);
    flat.push_back(point.x2);
  }
  const auto density =
      model.row_log_density(nd::tensor(flat, nd::kDouble).view({-1, 2}), {}).exp();
  auto grid = empty_grid();
  grid.values.assign(density.data_ptr<double>(),
                     density.data_ptr<double>() + density.numel());
  return grid;
}

struct Fitted {
  FitResult result;
  double test_nll_nats = 0;
};

FitRequest request_for(const TeaserOptions& options) {
  FitRequest request;
  request.data.table = options.directory + "/data/train.csv";
  request.data.columns = {"x1", "x2"};
  request.train.seed = options.seed;
  request.device = options.device;
  request.threads = options.threads;
  return request;
}

// As in the paper.
FitRequest with_valid_table(const TeaserOptions& options, Schedule schedule) {
  auto request = request_for(options);
  request.data.valid_table = options.directory + "/data/valid.csv";
  request.data.dependence.group = "group";
  request.train.schedule = schedule;
  return request;
}

// As most users have it.
FitRequest with_one_table(const TeaserOptions& options, bool is_adjusted) {
  auto request = request_for(options);
  if (is_adjusted) request.data.dependence.group = "group";
  request.vary_flow = true;
  request.normal_scores = ScoresUse::choose;
  return request;
}

Fitted fit_one(const TeaserOptions& options, const std::string& name,
               const FitRequest& request, Logger& logger) {
  const auto& directory = options.directory;
  const auto run = directory + "/" + name;
  logger.info("fit " + name);
  Fitted fitted{
      .result = fit_or_stop(request,
                            {.directory = run, .overwrite = true, .stop = options.stop},
                            logger)};
  const auto test =
      read_rows(directory + "/data/test.csv", {.columns = fitted.result.model.columns});
  fitted.test_nll_nats =
      evaluate_likelihood(fitted.result.model, test, {}).mean_nll_nats;
  return fitted;
}

std::string nats(double value) { return fmt::format("{:.3f}", value); }
std::string seconds(double value) { return fmt::format("{:.1f} s", value); }

void write_picture(const std::string& path, const Simulation& simulation,
                   const Fitted& baseline, const Fitted& joint) {
  DensityComparison comparison{.true_density = true_density(simulation.options.shape),
                               .baseline_density = model_density(baseline.result.model),
                               .adjusted_density = model_density(joint.result.model),
                               .sample_x = {},
                               .sample_y = {},
                               .block = simulation.block_of_row};
  for (std::size_t i = 0; i < simulation.block_of_row.size(); ++i) {
    comparison.sample_x.push_back(simulation.train[2 * i]);
    comparison.sample_y.push_back(simulation.train[2 * i + 1]);
  }
  comparison.true_subtitle = "entropy " + nats(simulation.entropy_nats) + " nats";
  comparison.baseline_subtitle = "test NLL " + nats(baseline.test_nll_nats);
  comparison.adjusted_subtitle = "test NLL " + nats(joint.test_nll_nats);
  write_density_comparison(path, comparison);
}

}  // namespace

Teaser run_teaser(const TeaserOptions& options, Logger& logger) {
  const auto& directory = options.directory;
  const auto lock = claim_folder(directory, options.overwrite);
  const auto start = std::chrono::steady_clock::now();
  const auto simulation = simulate({.shape = PlaneShape::abs, .seed = options.seed});
  const auto data = directory + "/data";
  write_simulation(data, simulation, simulation_files(data));
  const auto baseline = fit_one(options, "baseline",
                                with_valid_table(options, Schedule::baseline), logger);
  const auto joint =
      fit_one(options, "joint", with_valid_table(options, Schedule::joint), logger);
  const auto ordinary =
      fit_one(options, "one-table-ordinary", with_one_table(options, false), logger);
  const auto adjusted =
      fit_one(options, "one-table-adjusted", with_one_table(options, true), logger);
  const auto picture = picture_of(directory);
  write_picture(picture, simulation, baseline, joint);

  const auto blocks = repeated_blocks(simulation);
  const auto error =
      correlation_error(correlations_of(joint.result.model.dependence, blocks.labels),
                        blocks.correlations);
  TextTable table({{"Abs, 10,000 rows in blocks", Align::kLeft},
                   {"test NLL (nats)"},
                   {"above entropy"},
                   {"time"}});
  const auto add = [&](const std::string& name, double value,
                       const std::string& time = "") {
    table.add_row({name, nats(value), nats(value - simulation.entropy_nats), time});
  };
  const auto add_fit = [&](const std::string& name, const Fitted& fitted) {
    add(name, fitted.test_nll_nats, seconds(fitted.result.seconds));
  };
  add("entropy (no model can do better)", simulation.entropy_nats);
  table.add_row({"this table alone", "", "", ""});
  add_fit("  ordinary flow: rows as independent", ordinary);
  add_fit("  kinflow: dependence learned", adjusted);
  table.add_row({"with 5,000 independent validation rows", "", "", ""});
  add_fit("  ordinary flow: rows as independent", baseline);
  add_fit("  kinflow: dependence learned", joint);
  add("  paper, ordinary flow (mean of 10 seeds)", kPaperBaseline);
  add("  paper, grid of 144 trainings", kPaperGrid);
  return {
      .table = fmt::format(
          "{}\nlearned rho of {} blocks with repeats: mean squared error "
          "{:.3f}, mean absolute error {:.3f}\n",
          table.plain(), blocks.labels.size(), error.mean_squared, error.mean_absolute),
      .picture = picture,
      .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
                     .count()};
}

}  // namespace kinflow
