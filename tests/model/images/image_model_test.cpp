// Image models as files: the same model comes back, and broken files are refused.
#include "kinflow/model/images/image_model.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "kinflow/array/array.h"
#include "kinflow/engine/images/image_names.h"
#include "kinflow/model/model.h"
#include "kinflow/model/model_kind.h"
#include "tests/engine/images/small_images.h"

namespace kinflow {
namespace {

using Json = nlohmann::json;

ImageModel small_model() {
  auto flow = std::make_unique<GlowFlow>(small_flow(), 7);
  flow->values().add_(0.01 * nd::sin(nd::arange(flow->values().numel(), nd::kFloat)));
  flow->latent_mean().add_(nd::arange(1, flow->latent_mean().numel() + 1));
  return {.flow = std::move(flow),
          .prepare = {.crop = 30,
                      .width = 8,
                      .height = 8,
                      .colors = ImageColors::grey,
                      .bits = 5},
          .dependence = {.kind = DependenceKind::blocks,
                         .column = "person",
                         .labels = {"Ada", "Bo"},
                         .sizes = {3, 2},
                         .parameters = {0.25, 0.5}},
          .record = {{"answer", 42}}};
}

/// A model file in its parts.
struct Parts {
  Json header, description;
  std::string data;

  explicit Parts(const std::string& bytes) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    header = Json::parse(bytes.substr(8, length));
    description = Json::parse(header["__metadata__"]["kinflow"].get<std::string>());
    // What is changed on purpose is not found by its checksum.
    header["__metadata__"].erase("checksum");
    data = bytes.substr(8 + length);
  }

  std::string bytes() const {
    Json all = header;
    all["__metadata__"]["kinflow"] = description.dump();
    const std::string text = all.dump();
    const std::uint64_t length = text.size();
    return std::string(reinterpret_cast<const char*>(&length), 8) + text + data;
  }

  template <typename Value>
  void put(const std::string& tensor, Value value) {
    std::memcpy(data.data() + header[tensor]["data_offsets"][0].get<std::size_t>(),
                &value, sizeof(value));
  }
};

class ImageModelFile : public testing::Test {
 protected:
  ImageModelFile() : path_(folder_.path("m.safetensors")) {
    save_image_model(path_, small_model());
    good_ = content_of(path_);
  }

  void expect_refused(const std::string& bytes, const std::string& mentioned = "") {
    folder_.write("m.safetensors", bytes);
    const auto message = input_error_of([&] { load_image_model(path_); });
    EXPECT_EQ(message.rfind(path_ + ": ", 0), 0u) << message;
    EXPECT_NE(message.find(mentioned), std::string::npos) << message;
  }
  void expect_refused_after(const std::function<void(Parts&)>& change,
                            const std::string& mentioned = "") {
    Parts parts(good_);
    change(parts);
    expect_refused(parts.bytes(), mentioned);
  }

  TemporaryFolder folder_;
  const std::string path_;
  std::string good_;
};

TEST_F(ImageModelFile, ComesBackBitForBit) {
  const auto saved = small_model();
  const auto loaded = load_image_model(path_);
  EXPECT_TRUE(loaded.flow->options() == saved.flow->options());
  EXPECT_TRUE(nd::equal(loaded.flow->values(), saved.flow->values()));
  EXPECT_TRUE(nd::equal(loaded.flow->latent_mean(), saved.flow->latent_mean()));
  EXPECT_GT(saved.flow->latent_mean().abs().min().item<double>(), 0);
  const auto fixed = loaded.flow->fixed(), expected = saved.flow->fixed();
  ASSERT_EQ(fixed.size(), expected.size());
  for (std::size_t i = 0; i < fixed.size(); ++i) {
    EXPECT_TRUE(nd::equal(fixed[i], expected[i]));
  }
  EXPECT_EQ(to_json(loaded.prepare), to_json(saved.prepare));
  EXPECT_EQ(to_json(loaded.dependence), to_json(saved.dependence));
  EXPECT_EQ(loaded.dependence.parameters, saved.dependence.parameters);
  EXPECT_EQ(loaded.record, saved.record);
  save_image_model(folder_.path("again"), loaded);
  EXPECT_TRUE(content_of(folder_.path("again")) == good_);
}

TEST_F(ImageModelFile, CorrelationsOfLatentsAreKeptInANewerFormat) {
  EXPECT_EQ(Parts(good_).description["format_version"], 2);
  EXPECT_TRUE(load_image_model(path_).latent_correlations.empty());
  auto model = small_model();
  for (int i = 0; i < 16; ++i) model.latent_correlations.push_back(0.05 * i);
  save_image_model(path_, model);
  good_ = content_of(path_);
  EXPECT_EQ(Parts(good_).description["format_version"], 3);
  const auto loaded = load_image_model(path_);
  EXPECT_EQ(loaded.latent_correlations, model.latent_correlations);
  const auto scales = correlations_by_scale(loaded);
  ASSERT_EQ(scales.size(), 2u);
  EXPECT_EQ(scales[1].correlations.front(), 0.05 * 8);
  EXPECT_NE(loaded.summary().find("0.0000 to 0.7500 in 16 channels"), std::string::npos)
      << loaded.summary();
  save_image_model(folder_.path("again"), loaded);
  EXPECT_TRUE(content_of(folder_.path("again")) == good_);
  expect_refused_after(
      [](Parts& p) { p.put("dependence.latent_correlations", 1.0); },
      "tensor 'dependence.latent_correlations': expected correlations in [0, 1)");
  expect_refused_after(
      [](Parts& p) { p.description["dependence"]["kind"] = "independent"; });
  model.latent_correlations.pop_back();
  save_image_model(path_, model);
  expect_refused(content_of(path_), "dependence.latent_correlations");
}

TEST_F(ImageModelFile, SaysItsKind) {
  EXPECT_EQ(model_kind(path_), ModelKind::images);
  EXPECT_EQ(input_error_of([&] { load_model(path_); }),
            path_ + ": expected a model of tables, found a model of images");
}

TEST_F(ImageModelFile, UnchangedPartsLoad) {
  folder_.write("m.safetensors", Parts(good_).bytes());
  EXPECT_EQ(load_image_model(path_).record["answer"], 42);
}

TEST_F(ImageModelFile, TheFirstFormatHasLatentsWithoutAMean) {
  Parts parts(good_);
  parts.description["format_version"] = 1;
  folder_.write("m.safetensors", parts.bytes());
  EXPECT_EQ(load_image_model(path_).flow->latent_mean().abs().max().item<double>(), 0);
}

TEST_F(ImageModelFile, TruncatedAndDamagedFilesAreRefused) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, good_.size() - 1}) {
    expect_refused(good_.substr(0, size));
  }
  auto damaged = good_;
  damaged[damaged.size() - 5] ^= 1;
  expect_refused(damaged, "damaged");
}

TEST_F(ImageModelFile, OptionsThatDoNotFitTheNumbersAreRefused) {
  for (const auto* key :
       {"channels", "height", "width", "scales", "steps", "kept_quarters",
        "dense_channels", "dense_layers", "dense_growth"}) {
    for (const auto& value :
         std::vector<Json>{Json(0), Json(-4), Json(100'000), Json("x"), Json()}) {
      expect_refused_after(
          [&](Parts& parts) { parts.description["flow"][key] = value; });
    }
  }
  expect_refused_after([](Parts& p) { p.description["flow"]["dense_layers"] = 100; },
                       "weights of the flow");
  expect_refused_after([](Parts& p) { p.description["flow"]["steps"] = 1000; },
                       "weights of the flow");
  expect_refused_after([](Parts& p) { p.description["format_version"] = 99; },
                       "newer kinflow");
  expect_refused_after([](Parts& p) { p.description.erase("prepare"); }, "prepare");
  expect_refused_after([](Parts& p) { p.description["prepare"]["bits"] = 9; }, "bits");
  expect_refused_after([](Parts& p) { p.description["kind"] = "table"; },
                       "expected a model of images");
  expect_refused_after([](Parts& p) { p.description["kind"] = 4; }, "kind");
}

TEST_F(ImageModelFile, NumbersThatCannotBeAreRefused) {
  expect_refused_after([](Parts& p) { p.put("dependence.parameters", 1.5); },
                       "correlations in [0, 1)");
  expect_refused_after([](Parts& p) { p.put("fixed.0", 0.5f); },
                       "permutation matrices and signs");
  const Parts parts(good_);
  std::string weight;
  for (const auto& [name, ignored] : parts.header.items()) {
    if (name.rfind("flow.", 0) == 0) weight = name;
  }
  expect_refused_after([&](Parts& p) { p.put(weight, std::nanf("")); },
                       "finite values");
  expect_refused_after([](Parts& p) { p.put("latent_mean", std::nanf("")); },
                       "latent_mean");
  expect_refused_after(
      [](Parts& p) { p.description["dependence"]["kind"] = "relationship"; });
  expect_refused_after(
      [](Parts& p) { p.description["dependence"]["labels"] = {"Ada"}; });
}

TEST(ImageShapes, AreComparedWithTheModel) {
  const auto model = small_model();
  ImageSet set{.channels = 1, .height = 8, .width = 12, .bits = 5};
  EXPECT_EQ(input_error_of([&] { check_shape(model, set, "faces"); }),
            "faces: expected grey images of 8 x 8 pixels and 5 bits, as the model has, "
            "found grey images of 12 x 8 pixels and 5 bits");
}

}  // namespace
}  // namespace kinflow
