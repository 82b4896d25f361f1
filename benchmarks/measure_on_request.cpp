// kinflow's side of the comparison with other libraries (benchmarks/peers): a process
// that waits for requests, one a line, and answers each with one line, so that all
// sides are measured in turn.
//
//     about               versions of what is measured
//     write FOLDER        data, weights and log-densities as raw float32, see write()
//     WORK SECONDS        does the work again and again for so many seconds; the answer
//                         is the seconds of one step, or of one row. See works().
//
// One thread; seconds are those of the processor.
#include <cblas.h>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "kinflow/array/array.h"
#include "kinflow/array/device.h"
#include "kinflow/core/atomic_file.h"
#include "kinflow/core/version.h"
#include "kinflow/flow/density.h"
#include "measure.h"
#include "speed_problems.h"

namespace kinflow {
namespace {

constexpr std::int64_t kScoredRows = 100000;
/// Epochs before weights are handed out: splines that are not straight lines.
constexpr int kFirstEpochs = 5;
#ifdef __clang__
constexpr const char* kCompiler = "Clang";
#else
constexpr const char* kCompiler = "GCC";
#endif

/// Something to measure. `run` does `units` steps or rows.
struct Work {
  double units;
  std::function<void()> run;
};

double seconds_per_unit(const Work& work, double seconds) {
  const double start = processor_seconds();
  double passed = 0, units = 0;
  do {
    work.run();
    units += work.units;
    passed = processor_seconds() - start;
  } while (passed < seconds);
  return passed / units;
}

/// The matrix products of one training step and nothing else: for every linear layer
/// the outputs, the gradient in the weights and the gradient in the inputs, which the
/// very first one does not need.
class BareProducts {
 public:
  explicit BareProducts(const FlowOptions& options) {
    const bool is_spline = options.kind == FlowKind::spline;
    const std::int64_t half = options.dimension / 2;
    std::vector<std::int64_t> widths = {half};
    widths.insert(widths.end(), options.hidden.begin(), options.hidden.end());
    widths.push_back(half * (is_spline ? 3 * options.bins - 1 : 2));
    Random random(3);
    const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
      return standard_normal_rows(rows, columns, nd::kFloat, random);
    };
    for (std::int64_t layer = 0; layer < options.layers; ++layer) {
      for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
        const std::int64_t in = widths[i], out = widths[i + 1];
        linears_.push_back({.in = static_cast<int>(in),
                            .out = static_cast<int>(out),
                            .inputs = matrix(kBatchRows, in),
                            .weights = matrix(in, out),
                            .output_gradient = matrix(kBatchRows, out),
                            .outputs = matrix(kBatchRows, out),
                            .weight_gradient = matrix(in, out),
                            .input_gradient = matrix(kBatchRows, in)});
      }
    }
  }

  void run() {
    for (Linear& linear : linears_) {
      multiply(CblasNoTrans, CblasNoTrans, kBatch, linear.out, linear.in, linear.inputs,
               linear.weights, linear.outputs);
    }
    for (std::size_t i = linears_.size(); i-- > 0;) {
      Linear& linear = linears_[i];
      multiply(CblasTrans, CblasNoTrans, linear.in, linear.out, kBatch, linear.inputs,
               linear.output_gradient, linear.weight_gradient);
      if (i == 0) continue;
      multiply(CblasNoTrans, CblasTrans, kBatch, linear.in, linear.out,
               linear.output_gradient, linear.weights, linear.input_gradient);
    }
  }

 private:
  static constexpr int kBatch = static_cast<int>(kBatchRows);

  struct Linear {
    int in, out;
    Array inputs, weights, output_gradient;
    Array outputs, weight_gradient, input_gradient;
  };

  /// result [rows, columns] = left right, either of them transposed.
  static void multiply(CBLAS_TRANSPOSE left_is, CBLAS_TRANSPOSE right_is, int rows,
                       int columns, int inner, const Array& left, const Array& right,
                       Array& result) {
    cblas_sgemm(CblasRowMajor, left_is, right_is, rows, columns, inner, 1,
                left.data_ptr<float>(), static_cast<int>(left.size(1)),
                right.data_ptr<float>(), static_cast<int>(right.size(1)), 0,
                result.data_ptr<float>(), columns);
  }

  std::vector<Linear> linears_;
};

/// The same flow with other arithmetic.
Flow with_type(const Flow& flow, nd::ScalarType type) {
  Flow result(flow.options(), {0}, type);
  result.values().copy_(flow.values());
  return result;
}

class Side {
 public:
  Side() {
    for (int i = 0; i < kFirstEpochs; ++i) spline_.run_epoch();
    affine_.run_epoch();
    flow_ = std::make_unique<Flow>(with_type(spline_.flow(), nd::kFloat));
    double_flow_ = std::make_unique<Flow>(with_type(spline_.flow(), nd::kDouble));
  }

  std::map<std::string, Work> works() {
    const auto epochs = [](EndlessTraining& training) {
      return Work{kEpochBatches, [&] { training.run_epoch(); }};
    };
    const auto score = [](const Flow& flow, const Array& rows) {
      return Work{kScoredRows, [&flow, rows] { row_log_density(flow, rows, {}); }};
    };
    const auto sample = [this](const Flow& flow) {
      return Work{kScoredRows, [&] {
                    const Array latents = standard_normal_rows(
                        kScoredRows, 2, flow.values().scalar_type(), random_);
                    all_data(flow, latents.unsqueeze(0), {});
                  }};
    };
    return {{"step-spline", epochs(spline_)},
            {"step-spline-blocks", epochs(blocks_)},
            {"step-affine", epochs(affine_)},
            {"products-spline", {1, [this] { spline_products_.run(); }}},
            {"products-affine", {1, [this] { affine_products_.run(); }}},
            {"score-float32", score(*flow_, scored_rows_)},
            {"score-float64", score(*double_flow_, scored_rows_.to(nd::kDouble))},
            {"sample-float32", sample(*flow_)},
            {"sample-float64", sample(*double_flow_)}};
  }

  /// NAME-rows (training), NAME-values (weights) and NAME-density (of the training
  /// rows) of the spline and the affine flow, and scored-rows.
  void write(const std::string& folder) const {
    const auto save = [&](const std::string& name, const Array& tensor) {
      const Array numbers = tensor.contiguous();
      write_file_atomically(
          folder + "/" + name,
          {static_cast<const char*>(numbers.data_ptr()), numbers.nbytes()});
    };
    const auto save_flow = [&](const std::string& name,
                               const EndlessTraining& training) {
      save(name + "-rows", training.rows());
      save(name + "-values", training.flow().values());
      save(name + "-density", row_log_density(training.flow(), training.rows(), {}));
    };
    save_flow("spline", spline_);
    save_flow("affine", affine_);
    save("scored-rows", scored_rows_);
  }

 private:
  EndlessTraining spline_{small_spline_flow(), RowsAre::independent};
  EndlessTraining blocks_{small_spline_flow(), RowsAre::in_blocks};
  EndlessTraining affine_{deep_affine_flow(), RowsAre::independent};
  BareProducts spline_products_{small_spline_flow()};
  BareProducts affine_products_{deep_affine_flow()};
  Array scored_rows_ = plane_rows(kScoredRows);
  std::unique_ptr<Flow> flow_, double_flow_;
  Random random_{4, stream(Purpose::draws)};
};

std::string about() {
  // "OpenBLAS 0.3.21 ..."
  std::istringstream blas(openblas_get_config());
  std::string name, number;
  blas >> name >> number;
  return fmt::format("kinflow {}; {} {}; {} {} ({})", version(), kCompiler, __VERSION__,
                     name, number, openblas_get_corename());
}

void answer_requests() {
  set_threads(1);
  Side side;
  const std::map<std::string, Work> works = side.works();
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string request, folder;
    words >> request;
    if (request == "about") {
      fmt::print("{}\n", about());
    } else if (request == "write") {
      words >> folder;
      side.write(folder);
      fmt::print("written\n");
    } else {
      double seconds = 0;
      words >> seconds;
      fmt::print("{:.9e}\n", seconds_per_unit(works.at(request), seconds));
    }
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace kinflow

int main() {
  try {
    kinflow::answer_requests();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
