// Model files that are broken or made to harm: refused in one line, whatever they
// claim.
#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "kinflow/core/random.h"
#include "kinflow/model/model.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

using Json = nlohmann::json;

/// A model file in its parts.
struct Parts {
  Json header;
  Json description;  ///< kinflow's own, a text inside the header
  std::string data;

  explicit Parts(const std::string& bytes) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    header = Json::parse(bytes.substr(8, length));
    description = Json::parse(header["__metadata__"]["kinflow"].get<std::string>());
    data = bytes.substr(8 + length);
  }

  std::string bytes() const {
    Json all = header;
    if (!description.is_null()) all["__metadata__"]["kinflow"] = description.dump();
    const std::string text = all.dump();
    const std::uint64_t length = text.size();
    return std::string(reinterpret_cast<const char*>(&length), 8) + text + data;
  }

  /// The place of a tensor's first element in the data.
  char* first_element(const std::string& tensor) {
    return data.data() + header[tensor]["data_offsets"][0].get<std::size_t>();
  }
  void put(const std::string& tensor, double value) {
    std::memcpy(first_element(tensor), &value, sizeof(value));
  }
};

enum class SavedKind {
  plain,       ///< one member, not calibrated
  calibrated,  ///< one member
  several      ///< members, calibrated
};

std::string run_of(SavedKind kind) {
  const auto& files = SharedFiles::get();
  if (kind == SavedKind::several) return files.ensemble_run;
  return kind == SavedKind::calibrated ? files.blocks_run : files.plain_run;
}

/// The same with models of every kind.
class HostileModel : public testing::TestWithParam<SavedKind> {
 protected:
  HostileModel() : good_(content_of(run_of(GetParam()) + "/model.safetensors")) {}

  void expect_refused(const std::string& bytes) {
    const std::string path = folder_.write("m.safetensors", bytes);
    const std::string message = input_error_of([&] { load_model(path); });
    EXPECT_EQ(message.rfind(path + ": ", 0), 0u) << message;
  }
  void expect_refused_after(const std::function<void(Parts&)>& change) {
    Parts parts(good_);
    change(parts);
    expect_refused(parts.bytes());
  }

  const std::string good_;
  TemporaryFolder folder_;
};

std::string name_of_kind(const testing::TestParamInfo<SavedKind>& kind) {
  if (kind.param == SavedKind::several) return "Several";
  return kind.param == SavedKind::calibrated ? "Calibrated" : "Plain";
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostileModel,
                         testing::Values(SavedKind::plain, SavedKind::calibrated,
                                         SavedKind::several),
                         name_of_kind);

TEST_P(HostileModel, AnUnchangedFileLoads) {
  load_model(folder_.write("m.safetensors", Parts(good_).bytes()));
}

TEST_P(HostileModel, TruncatedEmptyAndForeignFiles) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{4}, std::size_t{8},
                                 std::size_t{500}, good_.size() - 1}) {
    expect_refused(good_.substr(0, size));
  }
  expect_refused(good_ + "more");
  Random random(1);
  std::string noise(2000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random.below(256));
  expect_refused(noise);
  expect_refused_after([](Parts& parts) {
    parts.header.erase("__metadata__");
    parts.description = nullptr;
  });
}

TEST_P(HostileModel, HeadersThatDisagreeWithTheData) {
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{1} << 40, UINT64_MAX}) {
    std::string bytes = good_;
    std::memcpy(bytes.data(), &length, 8);
    expect_refused(bytes);
  }
  const std::string mean = "standardization.mean";
  expect_refused_after([&](Parts& parts) {
    parts.header[mean]["data_offsets"] = {0, UINT64_MAX};
  });
  expect_refused_after([&](Parts& parts) {
    parts.header[mean]["data_offsets"][0] =
        parts.header[mean]["data_offsets"][0].get<std::uint64_t>() + 8;
  });
  for (const Json& shape :
       {Json{1LL << 62}, Json{1LL << 32, 1LL << 32}, Json{-2}, Json{3}, Json("two"),
        Json{0, 1LL << 62}, Json::array({1, 2})}) {
    expect_refused_after([&](Parts& parts) { parts.header[mean]["shape"] = shape; });
  }
  expect_refused_after([&](Parts& parts) { parts.header[mean]["dtype"] = "I64"; });
  expect_refused_after([&](Parts& parts) { parts.header[mean]["dtype"] = "F7"; });
  expect_refused_after([&](Parts& parts) { parts.header[mean].erase("shape"); });
}

// An empty tensor may claim any other extent.
TEST_P(HostileModel, EmptyTensorsOfAbsurdShape) {
  for (const auto& shape : {Json{0, INT64_MAX}, Json{INT64_MAX, 0, INT64_MAX}}) {
    expect_refused_after([&](Parts& parts) {
      const auto end = parts.data.size();
      parts.header["flow.more"] = {
          {"dtype", "F32"}, {"shape", shape}, {"data_offsets", {end, end}}};
      parts.header.erase("dependence.parameters");
    });
  }
}

TEST_P(HostileModel, TensorsOfTooManyAxes) {
  expect_refused_after([&](Parts& parts) {
    const auto end = parts.data.size();
    parts.header["flow.more"] = {{"dtype", "F32"},
                                 {"shape", {0, 1, 1, 1, 1, 1, 1, 1, 1}},
                                 {"data_offsets", {end, end}}};
  });
}

TEST_P(HostileModel, DescriptionsOutOfRange) {
  const std::vector<std::pair<std::string, Json>> changes = {
      {"/format_version", GetParam() == SavedKind::plain ? 2 : 1},
      {"/format_version", 3},
      {"/format_version", "1"},
      {"/columns", {"x1"}},
      {"/columns", {"x1", "x1"}},
      {"/columns", {"x1", "x\n2"}},
      {"/columns", {"x1", 2}},
      {"/columns", nullptr},
      {"/context_columns", {"age"}},
      {"/flow", 3},
      {"/flow/kind", "glow"},
      {"/flow/dimension", 0},
      {"/flow/dimension", -1},
      {"/flow/dimension", 99'999},
      {"/flow/dimension", 1'000'000'000},
      {"/flow/dimension", 2.5},
      {"/flow/context", 5},
      {"/flow/layers", 0},
      {"/flow/layers", 1000},
      {"/flow/layers", 1'000'000'000},
      {"/flow/hidden", Json::array()},
      {"/flow/hidden", {0}},
      {"/flow/hidden", {100'000, 100'000}},
      {"/flow/hidden", Json(100'000, 99'999)},
      {"/flow/hidden", "8"},
      {"/flow/bins", 0},
      {"/flow/bins", 1},
      {"/flow/bins", 500},
      {"/flow/bins", 1'000'000'000},
      {"/flow/bound", 0},
      {"/flow/bound", -5},
      {"/flow/bound", 1e300},
      {"/flow/permutation", "none"},
      {"/flow/permutation_seed", -1},
      {"/dependence/kind", "magic"},
      {"/dependence/kind", "relationship"},
      {"/dependence/kind", "independent"},
      {"/dependence/labels", {"g1"}},
      {"/dependence/sizes", {1}},
      {"/dependence/sizes", Json::array()}};
  for (const auto& [pointer, value] : changes) {
    SCOPED_TRACE(pointer + " = " + value.dump().substr(0, 80));
    expect_refused_after(
        [&](Parts& parts) { parts.description[Json::json_pointer(pointer)] = value; });
  }
}

TEST_P(HostileModel, MissingKeysAndTensors) {
  const Parts good(good_);
  for (const auto& [key, value] : good.description.items()) {
    // Files of earlier versions do not have the second.
    if (key == "record" || key == "minus_nine") continue;
    SCOPED_TRACE(key);
    expect_refused_after([&](Parts& parts) { parts.description.erase(key); });
  }
  for (const auto& [key, value] : good.description["flow"].items()) {
    SCOPED_TRACE(key);
    expect_refused_after([&](Parts& parts) { parts.description["flow"].erase(key); });
  }
  for (const auto& [name, entry] : good.header.items()) {
    if (name == "__metadata__") continue;
    SCOPED_TRACE(name);
    expect_refused_after([&](Parts& parts) {
      parts.header["other"] = parts.header[name];
      parts.header.erase(name);
    });
  }
  for (const std::string text : {"", "{", "[]", "3", "{\"format_version\":1}"}) {
    expect_refused_after([&](Parts& parts) {
      parts.header["__metadata__"]["kinflow"] = text;
      parts.description = nullptr;
    });
  }
  expect_refused_after([&](Parts& parts) {
    parts.header["__metadata__"]["kinflow"] =
        std::string(100'000, '[') + std::string(100'000, ']');
    parts.description = nullptr;
  });
}

TEST_P(HostileModel, NumbersOutOfRange) {
  for (const double value : {-0.1, 1.0, 2.0, std::nan(""), HUGE_VAL}) {
    expect_refused_after(
        [&](Parts& parts) { parts.put("dependence.parameters", value); });
  }
  for (const double value : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    expect_refused_after(
        [&](Parts& parts) { parts.put("standardization.deviation", value); });
  }
  expect_refused_after(
      [&](Parts& parts) { parts.put("standardization.mean", std::nan("")); });
  const std::uint32_t float_nan = 0x7fc00000;
  const Parts good(good_);
  for (const auto& [name, entry] : good.header.items()) {
    if (name.rfind("flow.", 0) != 0) continue;
    expect_refused_after([&](Parts& parts) {
      std::memcpy(parts.first_element(name), &float_nan, sizeof(float_nan));
    });
  }
}

// The format says whether there is a calibration, so that no older reader overlooks it.
TEST_P(HostileModel, TheFormatVersionIsTheLowestThatHoldsTheModel) {
  const Parts good(good_);
  EXPECT_EQ(good.description["format_version"], GetParam() == SavedKind::plain ? 1 : 2);
  EXPECT_EQ(good.header.contains("calibration.mean"), GetParam() != SavedKind::plain);
  EXPECT_EQ(good.description.contains("members"), GetParam() != SavedKind::plain);
}

TEST_P(HostileModel, CalibrationsThatPlaceNothing) {
  if (GetParam() == SavedKind::plain) return;
  const std::string mean = "calibration.mean", deviation = "calibration.deviation";
  const Parts good(good_);
  const std::int64_t members = GetParam() == SavedKind::several ? 3 : 1;
  ASSERT_EQ(good.header[mean]["shape"], Json({members, 2}));
  ASSERT_EQ(good.header[deviation]["shape"], Json({members, 2}));
  for (std::int64_t element = 0; element < 2 * members; ++element) {
    const auto put = [&](Parts& parts, const std::string& tensor, double value) {
      std::memcpy(parts.first_element(tensor) + 8 * element, &value, sizeof(value));
    };
    for (const double value : {0.0, -1.0, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      expect_refused_after([&](Parts& parts) { put(parts, deviation, value); });
    }
    for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      expect_refused_after([&](Parts& parts) { put(parts, mean, value); });
    }
  }
  for (const auto& tensor : {mean, deviation}) {
    for (const Json& shape : {Json{2 * members}, Json{2 * members, 1},
                              Json{1, members, 2}, Json{members, 2, 1}}) {
      SCOPED_TRACE(tensor + " " + shape.dump());
      expect_refused_after(
          [&](Parts& parts) { parts.header[tensor]["shape"] = shape; });
    }
    expect_refused_after([&](Parts& parts) { parts.header[tensor]["dtype"] = "I64"; });
    // Only one of the two.
    expect_refused_after([&](Parts& parts) {
      parts.header["other"] = parts.header[tensor];
      parts.header.erase(tensor);
    });
  }
}

// Counts of members that do not fit the tensors, and mistakes in any of them.
TEST_P(HostileModel, MembersThatAreNotThere) {
  if (GetParam() != SavedKind::several) return;
  for (const auto& count :
       {Json(0), Json(-1), Json(1), Json(2), Json(4), Json(1'000), Json(1'000'000'000),
        Json(INT64_MAX), Json(3.5), Json("3"), Json(nullptr), Json({3})}) {
    SCOPED_TRACE(count.dump());
    expect_refused_after([&](Parts& parts) { parts.description["members"] = count; });
  }
  const std::string name = "dependence.parameters";
  const Parts good(good_);
  const auto shape = good.header[name]["shape"];
  ASSERT_EQ(shape.size(), 2u);
  ASSERT_EQ(shape[0], 3);
  const auto count = shape[1].get<std::int64_t>();
  for (const Json& other : {Json{3 * count}, Json{count, 3}, Json{1, 3 * count},
                            Json{3, 1, count}, Json{1, 3, count}}) {
    expect_refused_after([&](Parts& parts) { parts.header[name]["shape"] = other; });
  }
  for (std::int64_t element = 0; element < 3 * count; element += count) {
    for (const double value : {-0.1, 1.0, std::nan(""), HUGE_VAL}) {
      expect_refused_after([&](Parts& parts) {
        std::memcpy(parts.first_element(name) + 8 * element, &value, sizeof(value));
      });
    }
  }
  const float float_nan = std::nanf("");
  for (const auto& [tensor, entry] : good.header.items()) {
    if (tensor.rfind("flow.", 0) != 0) continue;
    SCOPED_TRACE(tensor);
    EXPECT_EQ(entry["shape"][0], 3);
    const auto end = entry["data_offsets"][1].get<std::size_t>();
    expect_refused_after([&](Parts& parts) {
      std::memcpy(parts.data.data() + end - sizeof(float_nan), &float_nan,
                  sizeof(float_nan));
    });
    expect_refused_after([&](Parts& parts) {
      auto flat = parts.header[tensor]["shape"];
      flat.erase(0);
      flat[0] = 3 * flat[0].get<std::int64_t>();
      parts.header[tensor]["shape"] = flat;
    });
  }
}

// Any file that differs in a few bytes either loads or is refused in one line.
TEST_P(HostileModel, RandomChangesNeverCrash) {
  Random random(7);
  const Parts parts(good_);
  const auto header_bytes = static_cast<std::int64_t>(good_.size() - parts.data.size());
  for (int i = 0; i < 300; ++i) {
    std::string bytes = good_;
    for (int changes = 0; changes < 3; ++changes) {
      bytes[static_cast<std::size_t>(random.below(header_bytes))] =
          static_cast<char>(random.below(256));
    }
    const std::string path = folder_.write("m.safetensors", bytes);
    try {
      load_model(path);
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos)
          << error.what();
    }
  }
}

TEST_P(HostileModel, TheBinaryRefusesInOneLine) {
  const auto& files = SharedFiles::get();
  const std::string cut = folder_.write("cut.safetensors", good_.substr(0, 700));
  expect_refusal(folder_, {"evaluate", cut, files.blocks + "/test.csv"}, {cut});
  Parts parts(good_);
  parts.description["flow"]["layers"] = 999;
  const std::string huge = folder_.write("huge.safetensors", parts.bytes());
  expect_refusal(folder_,
                 {"sample", huge, "--rows", "3", "--out", folder_.path("s.csv")},
                 {huge, "expected", "weights of the flow"});
  std::filesystem::create_directory(folder_.path("run"));
  expect_refusal(folder_, {"inspect", folder_.path("run")},
                 {folder_.path("run"), "expected a run folder"});
}

// The record of a run is free form: whatever it holds, the model can be inspected.
TEST_P(HostileModel, AnOddRecordDoesNotHinderInspection) {
  Parts parts(good_);
  parts.description["record"] = {
      {"valid_nll_nats", "low"}, {"request", {1, 2}}, {"members", {{"replica", "x"}}}};
  const std::string path = folder_.write("m.safetensors", parts.bytes());
  EXPECT_NE(run_well({"inspect", path}).find("spline coupling"), std::string::npos);
}

}  // namespace
}  // namespace kinflow::cli
