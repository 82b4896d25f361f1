// Fuzzes what model files say of their tensors: any changes of a good description
// give a model that maps rows, or an InputError of one line.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fuzzed.h"
#include "kinflow/array/array.h"
#include "kinflow/array/tensor_file.h"
#include "kinflow/core/json_reader.h"
#include "kinflow/model/images/image_model.h"
#include "kinflow/model/model.h"
#include "kinflow/model/model_kind.h"

namespace {

using namespace kinflow;
using fuzzed::require;

Model table_model(std::int64_t members) {
  std::vector<std::uint64_t> seeds;
  for (std::int64_t i = 0; i < members; ++i) seeds.push_back(5);
  Model model{.columns = {"a", "b"},
              .context_columns = {},
              .parts = {},
              .dependence = {.kind = DependenceKind::blocks,
                             .column = "g",
                             .labels = {"x", "y"},
                             .sizes = {2, 3},
                             .parameters = {0.25, 0.75}},
              .record = {}};
  model.parts.push_back(
      {.standardization = {nd::zeros({2}, nd::kDouble), nd::ones({2}, nd::kDouble)},
       .context_standardization = {},
       .flow = std::make_unique<Flow>(
           FlowOptions{.dimension = 2, .layers = 2, .hidden = {4}, .bins = 3}, seeds,
           nd::kFloat)});
  for (std::int64_t i = 1; i < members; ++i) {
    model.further_parameters.push_back({0.5, 0.5});
  }
  return model;
}

/// Of two parts, one of them of uncorrelated columns, and a flow of all rows.
Model model_of_parts() {
  auto model = table_model(2);
  auto further = table_model(1);
  further.parts[0].standardization.decorrelation = nd::eye(2, nd::kDouble);
  model.map = further.parts[0].select({0}, nd::kCPU);
  model.parts.push_back(std::move(further.parts[0]));
  model.further_parameters.push_back({0.5, 0.5});
  const std::vector<ColumnBounds> bounds = {{.low = -9}, {.low = -9, .high = 9}};
  for (auto& part : model.parts) part.standardization.bounds = bounds;
  model.map->standardization.bounds = bounds;
  return model;
}

ImageModel image_model() {
  const GlowOptions options{.channels = 1,
                            .height = 8,
                            .width = 8,
                            .scales = 1,
                            .steps = 1,
                            .dense_channels = 8,
                            .dense_layers = 1,
                            .dense_growth = 8};
  return {.flow = std::make_unique<GlowFlow>(options, 7),
          .prepare = {.width = 8, .height = 8, .colors = ImageColors::grey, .bits = 5},
          .dependence = {.kind = DependenceKind::blocks,
                         .column = "person",
                         .labels = {"Ada", "Bo"},
                         .sizes = {3, 2},
                         .parameters = {0.25, 0.5}},
          .record = {}};
}

struct GoodModel {
  nlohmann::json description;
  NamedTensors tensors;
};

/// Of one member, of two, of images, and of parts.
std::vector<GoodModel> good_models(const fuzzed::Folder& folder) {
  std::vector<GoodModel> models;
  const auto path = folder.path("good.safetensors");
  const auto take = [&] {
    const auto [metadata, tensors] = load_tensors(path);
    models.push_back({nlohmann::json::parse(metadata.at("kinflow")), tensors});
  };
  for (const std::int64_t members : {1, 2}) {
    save_model(path, table_model(members));
    take();
  }
  save_image_model(path, image_model());
  take();
  save_model(path, model_of_parts());
  take();
  return models;
}

void check_table_model(const std::string& path) {
  const auto model = load_model(path, nd::kCPU, nd::kDouble);
  const auto n = std::ssize(model.columns);
  const auto context =
      model.context_columns.empty()
          ? Array()
          : nd::zeros({3, std::ssize(model.context_columns)}, nd::kDouble);
  const auto density = model.row_log_density(nd::ones({3, n}, nd::kDouble), context);
  require(density.numel() == 3);
}

}  // namespace

/// The first byte chooses the model; the rest are members of its description, null for
/// those that are taken away.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzzed::Folder folder;
  static const auto models = good_models(folder);
  fuzzed::Input input(data, size);
  const auto& good = models[input.choice() % models.size()];
  return fuzzed::answer_or_input_error([&] {
    auto description = good.description;
    description.merge_patch(parse_json(input.rest(), "f"));
    const auto path = folder.path("f.safetensors");
    save_tensors(path, {{"kinflow", description.dump()}}, good.tensors);
    if (model_kind(path) == ModelKind::images) {
      require(load_image_model(path).flow != nullptr);
    } else {
      check_table_model(path);
    }
  });
}
