// Models: densities in original units, files that load bit for bit, hostile files.
#include "kinflow/model/model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "kinflow/array/array.h"
#include "kinflow/core/error.h"
#include "kinflow/core/random.h"
#include "kinflow/fit/fit.h"
#include "tests/data/helpers.h"
#include "tests/random_arrays.h"

namespace kinflow {
namespace {

class ModelFile : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() /
                 ("kinflow_model_" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string path(const std::string& name) const { return directory_ / name; }

 private:
  std::filesystem::path directory_;
};

Model some_model(nd::ScalarType type, std::int64_t context = 0) {
  const FlowOptions options{
      .dimension = 2, .context = context, .hidden = {16}, .bins = 6, .bound = 4};
  Model model{.columns = {"height", "weight, kg"},
              .context_columns = {},
              .parts = {},
              .dependence = {.kind = DependenceKind::blocks,
                             .column = "person",
                             .labels = {"a", "\xc3\xa9"},
                             .sizes = {2, 3},
                             .parameters = {0.25, 0.75}},
              .record = {{"note", 1}}};
  model.parts.push_back(
      {.standardization = {nd::tensor({170.0, -3.0}), nd::tensor({10.0, 0.01})},
       .context_standardization = {},
       .flow = std::make_unique<Flow>(options, std::vector<std::uint64_t>{5}, type)});
  model.parts[0].standardization.mean =
      model.parts[0].standardization.mean.to(nd::kDouble);
  model.parts[0].standardization.deviation =
      model.parts[0].standardization.deviation.to(nd::kDouble);
  if (context > 0) {
    model.context_columns.assign(static_cast<std::size_t>(context), "c");
    model.parts[0].context_standardization = {nd::zeros({context}, nd::kDouble),
                                              nd::ones({context}, nd::kDouble)};
  }
  return model;
}

TEST_F(ModelFile, LoadsBitForBit) {
  for (const auto type : {nd::kFloat, nd::kDouble}) {
    const auto model = some_model(type, 1);
    save_model(path("m.safetensors"), model);
    const auto loaded = load_model(path("m.safetensors"));
    EXPECT_TRUE(
        nd::equal(loaded.parts[0].flow->values(), model.parts[0].flow->values()));
    EXPECT_EQ(loaded.type(), type);
    EXPECT_EQ(loaded.columns, model.columns);
    EXPECT_EQ(loaded.dependence.labels, model.dependence.labels);
    EXPECT_EQ(loaded.dependence.parameters, model.dependence.parameters);
    EXPECT_TRUE(nd::equal(loaded.parts[0].standardization.mean,
                          model.parts[0].standardization.mean));
    EXPECT_EQ(loaded.record, model.record);
    const auto rows =
        nd::tensor({165.0, -3.01, 180.0, -2.99}, nd::kDouble).view({2, 2});
    const auto context = nd::tensor({0.5, -1.0}, nd::kDouble).view({2, 1});
    EXPECT_TRUE(nd::equal(loaded.row_log_density(rows, context),
                          model.row_log_density(rows, context)));
  }
}

TEST_F(ModelFile, CategoriesOfTheContextAreKeptInFormatThree) {
  auto model = some_model(nd::kFloat, 3);
  model.context_columns = {"age", "region"};
  model.context_levels = {{"region", {"east", "north", "west"}}};
  save_model(path("m.safetensors"), model);
  EXPECT_NE(content_of(path("m.safetensors")).find("\\\"format_version\\\":3,"),
            std::string::npos);
  const auto loaded = load_model(path("m.safetensors"));
  EXPECT_EQ(loaded.context_columns, model.context_columns);
  EXPECT_EQ(loaded.context_levels, model.context_levels);
  EXPECT_EQ(loaded.member(0).context_levels, model.context_levels);
  save_model(path("again.safetensors"), loaded);
  EXPECT_EQ(content_of(path("m.safetensors")), content_of(path("again.safetensors")));

  const CategoryLevels wrong[] = {{{"region", {"east", "west"}}},
                                  {{"region", {"west", "north", "east"}}},
                                  {{"region", {"east", "east", "west"}}},
                                  {{"region", {"", "north", "west"}}},
                                  {{"city", {"east", "north", "west"}}}};
  for (const auto& levels : wrong) {
    model.context_levels = levels;
    save_model(path("wrong.safetensors"), model);
    EXPECT_THROW(load_model(path("wrong.safetensors")), InputError);
  }
}

Model some_mixture(nd::ScalarType type) {
  auto model = some_model(type, 1);
  model.parts[0].flow = std::make_unique<Flow>(
      model.parts[0].flow->options(), std::vector<std::uint64_t>{5, 6, 7}, type);
  model.further_parameters = {{0.5, 0.125}, {0.0, 0.875}};
  return model;
}

TEST_F(ModelFile, OfSeveralMembersLoadsBitForBit) {
  for (const auto type : {nd::kFloat, nd::kDouble}) {
    const auto model = some_mixture(type);
    save_model(path("m.safetensors"), model);
    const auto loaded = load_model(path("m.safetensors"));
    EXPECT_EQ(loaded.members(), 3);
    EXPECT_TRUE(
        nd::equal(loaded.parts[0].flow->values(), model.parts[0].flow->values()));
    EXPECT_EQ(loaded.type(), type);
    EXPECT_EQ(loaded.dependence.parameters, model.dependence.parameters);
    EXPECT_EQ(loaded.further_parameters, model.further_parameters);
    EXPECT_EQ(loaded.record, model.record);
    save_model(path("again.safetensors"), loaded);
    EXPECT_EQ(content_of(path("m.safetensors")), content_of(path("again.safetensors")));
  }
}

TEST_F(ModelFile, WithACalibrationLoadsBitForBitInFormatTwo) {
  for (const std::int64_t members : {1, 3}) {
    auto model = members == 1 ? some_model(nd::kFloat, 1) : some_mixture(nd::kFloat);
    const auto numbers = nd::arange(1, 2 * members + 1, nd::kDouble).view({members, 2});
    model.calibration = {.mean = numbers / 3 - 1, .deviation = numbers.sqrt() / 2};
    save_model(path("m.safetensors"), model);
    EXPECT_NE(content_of(path("m.safetensors")).find("\\\"format_version\\\":2,"),
              std::string::npos);
    const auto loaded = load_model(path("m.safetensors"));
    ASSERT_TRUE(loaded.calibration);
    EXPECT_TRUE(nd::equal(loaded.calibration->mean, model.calibration->mean));
    EXPECT_TRUE(nd::equal(loaded.calibration->deviation, model.calibration->deviation));
    const auto rows =
        nd::tensor({165.0, -3.01, 180.0, -2.99}, nd::kDouble).view({2, 2});
    const auto context = nd::tensor({0.5, -1.0}, nd::kDouble).view({2, 1});
    EXPECT_TRUE(nd::equal(loaded.row_log_density(rows, context),
                          model.row_log_density(rows, context)));
    save_model(path("again.safetensors"), loaded);
    EXPECT_EQ(content_of(path("m.safetensors")), content_of(path("again.safetensors")));
    const auto last = loaded.member(members - 1);
    EXPECT_TRUE(
        nd::equal(last.calibration->mean[0], model.calibration->mean[members - 1]));
  }
}

/// Three members in two parts of different kinds, and a flow of all rows of a third.
Model model_of_parts(nd::ScalarType type) {
  auto model = some_mixture(type);
  const auto decorrelation =
      nd::tensor({1.0, 0.0, -0.75, 1.5}, nd::kDouble).view({2, 2});
  auto small = model.parts[0].flow->options();
  small.hidden = {4};
  auto affine = small;
  affine.kind = FlowKind::affine;
  const auto part = [&](const FlowOptions& options, std::vector<std::uint64_t> seeds,
                        bool decorrelates) {
    ModelPart made{.standardization = model.parts[0].standardization,
                   .context_standardization = model.parts[0].context_standardization,
                   .flow = std::make_unique<Flow>(options, seeds, type)};
    seed_numbers(seeds[0]);
    made.flow->values() += 0.1 * normal_array_like(made.flow->values());
    made.standardization.mean =
        made.standardization.mean + static_cast<double>(seeds[0]);
    if (decorrelates) made.standardization.decorrelation = decorrelation;
    return made;
  };
  std::vector<ModelPart> parts;
  parts.push_back(part(affine, {3, 4}, true));
  parts.push_back(part(small, {5}, false));
  model.parts = std::move(parts);
  model.map = part(model.parts[0].flow->options(), {6}, true);
  return model;
}

TEST_F(ModelFile, OfPartsLoadsBitForBit) {
  const auto model = model_of_parts(nd::kFloat);
  save_model(path("m.safetensors"), model);
  EXPECT_NE(content_of(path("m.safetensors")).find("\\\"format_version\\\":5,"),
            std::string::npos);
  const auto loaded = load_model(path("m.safetensors"));
  ASSERT_EQ(loaded.parts.size(), 2u);
  EXPECT_EQ(loaded.members(), 3);
  EXPECT_EQ(loaded.parts[1].flow->options().hidden, std::vector<std::int64_t>{4});
  EXPECT_TRUE(nd::equal(loaded.parts[0].standardization.decorrelation,
                        model.parts[0].standardization.decorrelation));
  const auto rows = nd::tensor({165.0, -3.01, 180.0, -2.99}, nd::kDouble).view({2, 2});
  const auto context = nd::tensor({0.5, -1.0}, nd::kDouble).view({2, 1});
  EXPECT_TRUE(nd::equal(loaded.row_log_density(rows, context),
                        model.row_log_density(rows, context)));
  EXPECT_TRUE(nd::equal(loaded.to_latent(rows, context).latents,
                        model.to_latent(rows, context).latents));
  save_model(path("again.safetensors"), loaded);
  EXPECT_EQ(content_of(path("m.safetensors")), content_of(path("again.safetensors")));
}

TEST_F(ModelFile, LatentsWithDependencesOfTheirOwnAreOfFormat6) {
  auto model = model_of_parts(nd::kFloat);
  auto options = model.parts[1].flow->options();
  options.latent_map = true;
  model.parts[1].flow =
      std::make_unique<Flow>(options, std::vector<std::uint64_t>{5}, nd::kFloat);
  model.parts[1].flow->start_latent_map(
      nd::tensor({0.3, 1.0, 0.8, -0.4}, nd::kDouble).view({2, 2}));
  model.dependence.latents = 2;
  for (auto* parameters : {&model.dependence.parameters, &model.further_parameters[0],
                           &model.further_parameters[1]}) {
    const auto shared = *parameters;
    for (const double value : shared) parameters->push_back(0.5 * value);
  }
  save_model(path("m.safetensors"), model);
  EXPECT_NE(content_of(path("m.safetensors")).find("\\\"format_version\\\":6,"),
            std::string::npos);
  const auto loaded = load_model(path("m.safetensors"));
  EXPECT_EQ(loaded.dependence.latents, 2);
  EXPECT_EQ(loaded.dependence.parameters, model.dependence.parameters);
  EXPECT_EQ(loaded.further_parameters, model.further_parameters);
  const auto rows = nd::tensor({165.0, -3.01, 180.0, -2.99}, nd::kDouble).view({2, 2});
  const auto context = nd::tensor({0.5, -1.0}, nd::kDouble).view({2, 1});
  EXPECT_TRUE(nd::equal(loaded.row_log_density(rows, context),
                        model.row_log_density(rows, context)));
  model.dependence.latents = 3;
  save_model(path("off.safetensors"), model);
  EXPECT_THROW(load_model(path("off.safetensors")), InputError);
}

TEST_F(ModelFile, BoundsOfColumnsAreOfFormat6AndTheSameInAllParts) {
  auto model = model_of_parts(nd::kFloat);
  const std::vector<ColumnBounds> bounds = {{.low = 140}, {.low = -4, .high = 0.5}};
  for (auto& part : model.parts) part.standardization.bounds = bounds;
  model.map->standardization.bounds = bounds;
  save_model(path("m.safetensors"), model);
  EXPECT_NE(content_of(path("m.safetensors")).find("\\\"format_version\\\":6,"),
            std::string::npos);
  const auto loaded = load_model(path("m.safetensors"));
  EXPECT_EQ(loaded.bounds(), bounds);
  EXPECT_EQ(loaded.member(2).bounds(), bounds);
  EXPECT_EQ(loaded.single().bounds(), bounds);
  const auto rows = nd::tensor({165.0, -3.01, 180.0, -2.99}, nd::kDouble).view({2, 2});
  const auto context = nd::tensor({0.5, -1.0}, nd::kDouble).view({2, 1});
  EXPECT_TRUE(nd::equal(loaded.row_log_density(rows, context),
                        model.row_log_density(rows, context)));
  save_model(path("again.safetensors"), loaded);
  EXPECT_EQ(content_of(path("m.safetensors")), content_of(path("again.safetensors")));

  const auto expect_refused = [&] {
    save_model(path("off.safetensors"), model);
    EXPECT_THROW(load_model(path("off.safetensors")), InputError);
  };
  model.parts[1].standardization.bounds = {};
  expect_refused();
  for (const auto& wrong :
       {ColumnBounds{.low = 1, .high = 1}, ColumnBounds{.low = 2, .high = 1},
        ColumnBounds{.low = NAN}, ColumnBounds{.low = HUGE_VAL}}) {
    for (auto& part : model.parts) part.standardization.bounds = {wrong, {}};
    model.map->standardization.bounds = {wrong, {}};
    expect_refused();
  }
}

// A flow with random weights, normal scores of a skewed column, and its bounds.
TEST_F(ModelFile, DensityOfABoundedColumnIntegratesToOne) {
  Random random(5);
  auto column = nd::empty({500, 1}, nd::kDouble);
  for (std::int64_t i = 0; i < 500; ++i) column[i][0] = random.normal();
  const auto draws = column.exp();
  for (const auto& bounds :
       {ColumnBounds{.low = 0}, ColumnBounds{.low = 0, .high = 150}}) {
    const auto plain = Standardization::from(draws, {}, {bounds});
    Model model{.columns = {"x"},
                .context_columns = {},
                .parts = {},
                .dependence = {},
                .record = {}};
    model.parts.push_back(
        {.standardization = plain.with_scores(draws, nd::ones({500}, nd::kDouble), 500)
                                .value_or(plain),
         .context_standardization = {},
         .flow = std::make_unique<Flow>(
             FlowOptions{.dimension = 1, .layers = 2, .hidden = {4}, .bins = 4},
             std::vector<std::uint64_t>{9}, nd::kDouble)});
    seed_numbers(1);
    auto& values = model.parts[0].flow->values();
    values += 0.3 * normal_array_like(values);
    // Trapezoids between points whose distances grow from the bound on.
    const auto points =
        bounds.has_high()
            ? 75 * (1 -
                    (nd::linspace(0, 1, 400001, nd::kDouble) * 3.14159265358979).cos())
            : nd::linspace(-40, 40, 400001, nd::kDouble).exp();
    const auto density = model.row_log_density(points.unsqueeze(1), {}).exp();
    const auto last = density.size(0) - 1;
    const auto heights = (density.narrow(0, 0, last) + density.narrow(0, 1, last)) / 2;
    EXPECT_NEAR((heights * points.diff()).sum().item<double>(), 1, 1e-4)
        << bounds.in_words();
    const auto outside = nd::tensor({0.0, -1.0}, nd::kDouble).unsqueeze(1);
    EXPECT_TRUE(nd::equal(model.row_log_density(outside, {}).exp(),
                          nd::zeros({2}, nd::kDouble)));
  }
}

TEST_F(ModelFile, MembersOfPartsAreThoseOfTheMixture) {
  const auto model = model_of_parts(nd::kDouble);
  const auto rows = nd::tensor({165.0, -3.01, 180.0, -2.99}, nd::kDouble).view({2, 2});
  const auto context = nd::tensor({0.5, -1.0}, nd::kDouble).view({2, 1});
  const auto all = model.member_latents(rows, context);
  Array sum = nd::zeros({2}, nd::kDouble);
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto member = model.member(i);
    const auto own = member.to_latent(rows, context);
    EXPECT_TRUE(nd::equal(own.latents, all.latents[i]));
    EXPECT_TRUE(nd::equal(own.log_abs_det, all.log_abs_det[i]));
    EXPECT_TRUE(nd::allclose(member.from_latent(own.latents, context), rows, 1e-9));
    sum += member.row_log_density(rows, context).exp() / 3;
  }
  EXPECT_TRUE(nd::allclose(model.row_log_density(rows, context).exp(), sum, 1e-12));
}

TEST_F(ModelFile, ADecorrelationThatIsNoLowerTriangleIsRefused) {
  auto model = model_of_parts(nd::kDouble);
  for (const auto& wrong : {nd::tensor({1.0, 0.5, 0.5, 1.0}, nd::kDouble),
                            nd::tensor({1.0, 0.0, 0.5, 0.0}, nd::kDouble),
                            nd::tensor({1.0, 0.0, NAN, 1.0}, nd::kDouble)}) {
    model.parts[0].standardization.decorrelation = wrong.view({2, 2});
    save_model(path("m.safetensors"), model);
    EXPECT_THROW(load_model(path("m.safetensors")), InputError);
  }
}

TEST_F(ModelFile, MembersOfIndependentRowsHaveNoParameters) {
  auto model = some_mixture(nd::kFloat);
  model.dependence = {};
  model.further_parameters = {{}, {}};
  save_model(path("m.safetensors"), model);
  const auto loaded = load_model(path("m.safetensors"));
  EXPECT_EQ(loaded.further_parameters, model.further_parameters);
  EXPECT_EQ(loaded.dependence_of(2).kind, DependenceKind::independent);
}

TEST_F(ModelFile, AMemberByItselfIsAFileOfOneMember) {
  const auto model = some_mixture(nd::kFloat);
  save_model(path("m.safetensors"), model.member(1));
  EXPECT_NE(content_of(path("m.safetensors")).find("\\\"format_version\\\":1,"),
            std::string::npos);
  const auto loaded = load_model(path("m.safetensors"));
  EXPECT_EQ(loaded.members(), 1);
  EXPECT_TRUE(nd::equal(loaded.parts[0].flow->values(),
                        model.parts[0].flow->values().narrow(0, 1, 1)));
  EXPECT_EQ(loaded.dependence.parameters, model.further_parameters[0]);
}

TEST_F(ModelFile, TypicalCorrelationWeighsBlocksByTheirRepeats) {
  const auto model = some_model(nd::kFloat);
  EXPECT_NEAR(model.dependence.typical_parameter(), (0.25 * 1 + 0.75 * 2) / 3, 1e-12);
  DependenceRequest request;
  request.group = "person";
  request = model.dependence.request_for_new_rows(request, {});
  const std::vector<std::string> labels = {"unknown", "a", "unknown", "single", "a"};
  const Blocks law(nd::tensor({0, 1, 0, 2, 1}, nd::kLong));
  const auto correlations =
      model.dependence.parameters_for_new_rows(request, law, labels, {});
  EXPECT_NEAR(correlations[0].item<double>(), 1.75 / 3, 1e-12);
  EXPECT_EQ(correlations[1].item<double>(), 0.25);
}

TEST_F(ModelFile, DensityInOriginalUnitsIncludesTheStandardisation) {
  const auto model = some_model(nd::kDouble);
  const auto rows = nd::tensor({171.0, -3.002}, nd::kDouble).view({1, 2});
  const auto latents = model.to_latent(rows, {});
  const auto standardized = model.parts[0].standardization.apply(rows).unsqueeze(0);
  const auto result = model.parts[0].flow->to_latent(standardized);
  EXPECT_NEAR(latents.log_abs_det.item<double>(),
              result.log_abs_det.item<double>() - std::log(10.0) - std::log(0.01),
              1e-10);
  EXPECT_LT((model.from_latent(latents.latents, {}) - rows).abs().max().item<double>(),
            1e-9);
}

TEST_F(ModelFile, ADamagedFileIsNoticed) {
  const auto file = path("m.safetensors");
  save_model(file, some_model(nd::kFloat));
  EXPECT_NO_THROW(load_model(file));
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(-5, std::ios::end);
  const char byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(-5, std::ios::end);
  stream.put(byte);
  stream.close();
  try {
    load_model(file);
    FAIL() << "a changed bit was not noticed";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("damaged"), std::string::npos);
  }
}

TEST_F(ModelFile, FullDiskOrMissingFolderIsAnInputError) {
  EXPECT_THROW(save_model(path("no/such/folder/m.safetensors"), some_model(nd::kFloat)),
               InputError);
}

// A small fit, then the integral of its density over the plane.
TEST_F(ModelFile, TrainedDensityIntegratesToOne) {
  const auto table = path("train.csv");
  {
    Random random(3);
    std::ofstream out(table);
    out << "x1,x2,group\n";
    for (int i = 0; i < 1500; ++i) {
      const double a = random.normal();
      out << a << ',' << std::abs(a) - 1 + std::exp(-1.5) * random.normal() << ",g"
          << i / 5 << '\n';
    }
  }
  FitRequest request;
  request.data.table = table;
  request.data.dependence.group = "group";
  request.train.epochs = 15;
  request.replicas.count = 1;
  Logger silent;
  const auto result = fit(request, {.directory = path("run")}, silent);

  // Weights trained in single precision, arithmetic in double: a long way there and
  // back.
  const auto precise = load_model(path("run/model.safetensors"), nd::kCPU, nd::kDouble);
  const auto rows = normal_array({100'000, 2}, nd::kDouble) *
                    nd::tensor({1.0, 5.0}, nd::kDouble).repeat({50'000}).unsqueeze(1);
  const auto back = precise.from_latent(precise.to_latent(rows, {}).latents, {});
  // In the flow's own units: tails of the data stretch every rounding.
  const auto by = precise.single().parts.at(0).standardization;
  const auto error = (by.apply(back) - by.apply(rows)).abs();
  EXPECT_LT(error.max().item<double>(), 1e-10);

  const std::int64_t side = 1200;
  const double low = -9, high = 9, cell = (high - low) / static_cast<double>(side);
  const auto axis = nd::arange(side, nd::kDouble).add(0.5).mul(cell).add(low);
  const auto points = nd::stack({axis.repeat({side}), axis.repeat_interleave(side)}, 1);
  const double integral =
      result.model.row_log_density(points, {}).exp().sum().item<double>() * cell * cell;
  EXPECT_NEAR(integral, 1, 1e-3);
}

}  // namespace
}  // namespace kinflow
