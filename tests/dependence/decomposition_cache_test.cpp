// Decompositions on disk: found again, never trusted.
#include "kinflow/dependence/decomposition_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>

#include "kinflow/array/array.h"
#include "kinflow/array/tensor_file.h"
#include "kinflow/core/hash.h"
#include "kinflow/core/random.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kCachedRows = 60;

Array random_relationship(std::uint64_t seed, std::int64_t rank = kCachedRows) {
  Random random(seed);
  const Array factor = nd::empty({kCachedRows, rank}, nd::kDouble);
  for (std::int64_t i = 0; i < factor.numel(); ++i) {
    factor.data_ptr<double>()[i] = random.normal();
  }
  return nd::mm(factor, factor.t()) / static_cast<double>(rank);
}

class Messages : public Logger {
 public:
  void info(const std::string& message) override { infos.push_back(message); }
  void warning(const std::string& message) override { warnings.push_back(message); }
  bool has_info(const std::string& part) const {
    return std::any_of(infos.begin(), infos.end(), [&](const std::string& info) {
      return info.find(part) != std::string::npos;
    });
  }
  std::vector<std::string> infos, warnings;
};

class DecompositionCacheTest : public testing::Test {
 protected:
  /// decompose_cached() with its messages in `said`; its result is compared with the
  /// matrix.
  SpectralDecomposition decompose(const Array& matrix) {
    said = Messages();
    const auto parts = decompose_cached(matrix, cache, said);
    const Array& basis = parts.eigenvectors;
    const Array again = nd::mm(basis * parts.eigenvalues, basis.t());
    EXPECT_LT((again - matrix).abs().max().item<double>(), 1e-6);
    const Array identity = nd::eye(kCachedRows, nd::kDouble);
    EXPECT_LT((nd::mm(basis.t(), basis) - identity).abs().max().item<double>(), 1e-12);
    return parts;
  }
  bool was_found() const { return said.has_info("taken from"); }
  bool was_kept() const { return said.has_info("kept in"); }
  std::string only_file() const {
    const auto files = folder.files();
    EXPECT_EQ(files.size(), 1u);
    return folder.path(files.at(0));
  }
  void expect_unsound_file_is_replaced(const Array& matrix, const std::string& why) {
    SCOPED_TRACE(why);
    decompose(matrix);
    EXPECT_FALSE(was_found());
    EXPECT_TRUE(was_kept());
    ASSERT_EQ(said.warnings.size(), 1u);
    EXPECT_NE(said.warnings[0].find(why), std::string::npos) << said.warnings[0];
    EXPECT_NE(said.warnings[0].find("; decomposing again"), std::string::npos);
    decompose(matrix);
    EXPECT_TRUE(was_found());
    EXPECT_TRUE(said.warnings.empty());
  }
  void set_age(const std::string& path, int hours) {
    fs::last_write_time(path,
                        fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  TemporaryFolder folder;
  DecompositionCache cache{
      .folder = folder.path(), .stem = "G.grm.bin", .smallest_rows = kCachedRows};
  Messages said;
};

TEST_F(DecompositionCacheTest, TheSecondTimeTheSameNumbersComeFromTheFile) {
  const Array matrix = random_relationship(1);
  const auto first = decompose(matrix);
  EXPECT_FALSE(was_found());
  EXPECT_TRUE(was_kept());
  const std::string name = fs::path(only_file()).filename().string();
  EXPECT_TRUE(name.starts_with("G.grm.bin.eigen-")) << name;
  EXPECT_EQ(name.size(),
            std::string("G.grm.bin.eigen-0123456789abcdef.safetensors").size());
  set_age(only_file(), 100);
  const auto second = decompose(matrix);
  EXPECT_TRUE(was_found());
  EXPECT_EQ(said.infos.size(), 1u);
  EXPECT_TRUE(nd::equal(first.eigenvectors, second.eigenvectors));
  EXPECT_TRUE(nd::equal(first.eigenvalues, second.eigenvalues));
  // It counts as used just now.
  EXPECT_LT(fs::file_time_type::clock::now() - fs::last_write_time(only_file()),
            std::chrono::hours(1));
}

TEST_F(DecompositionCacheTest, ViewsAndOtherLayoutsOfAMatrixAreTheSameMatrix) {
  const Array matrix = random_relationship(1);
  decompose(matrix);
  decompose(matrix.t().contiguous().t());
  EXPECT_TRUE(was_found());
}

TEST_F(DecompositionCacheTest, ASmallestChangeOfTheMatrixIsAnotherMatrix) {
  Array matrix = random_relationship(1);
  decompose(matrix);
  matrix.data_ptr<double>()[0] = std::nextafter(matrix.data_ptr<double>()[0], 100.0);
  decompose(matrix);
  EXPECT_FALSE(was_found());
  EXPECT_EQ(folder.files().size(), 2u);
}

TEST_F(DecompositionCacheTest, MatricesThatAreOnlyAlmostSymmetricOrDefiniteAreFound) {
  Array asymmetric = random_relationship(2);
  asymmetric.data_ptr<double>()[1] += 1e-9;
  // Of low rank: eigenvalues that should be 0, of which one is made negative.
  const Array deficient = random_relationship(3, 5);
  const Array direction = decompose_relationship(deficient).eigenvectors.select(1, 0);
  const Array indefinite = deficient - 1e-7 * nd::outer(direction, direction);
  for (const Array& matrix : {asymmetric, deficient, indefinite}) {
    decompose(matrix);
    EXPECT_TRUE(was_kept());
    decompose(matrix);
    EXPECT_TRUE(was_found());
    EXPECT_TRUE(said.warnings.empty());
  }
}

TEST_F(DecompositionCacheTest, EveryKindOfDamageLeadsToANewDecomposition) {
  const Array matrix = random_relationship(4);
  decompose(matrix);
  const std::string path = only_file();
  const std::string sound = content_of(path);
  const auto damage = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  };
  damage("");
  expect_unsound_file_is_replaced(matrix, "found another size");
  damage(sound.substr(0, sound.size() - 8));
  expect_unsound_file_is_replaced(matrix, "found");
  damage(sound + std::string(100'000, 'x'));
  expect_unsound_file_is_replaced(matrix, "found another size");
  damage(std::string(sound.size(), 'x'));
  expect_unsound_file_is_replaced(matrix, path);
  // One bit of the last number, of an eigenvector or an eigenvalue.
  for (const std::size_t from_end :
       {std::size_t{8}, std::size_t{8 * kCachedRows * kCachedRows}}) {
    std::string flipped = sound;
    flipped[sound.size() - from_end] ^= 1;
    damage(flipped);
    expect_unsound_file_is_replaced(matrix, "found damaged numbers");
  }
}

TEST_F(DecompositionCacheTest, ForeignContentUnderTheRightNameIsNotUsed) {
  const Array matrix = random_relationship(5);
  decompose(matrix);
  const std::string path = only_file();
  const auto parts = decompose_relationship(matrix);
  save_tensors(path, {},
               {{"weights", nd::ones({kCachedRows, kCachedRows + 1}, nd::kDouble)}});
  expect_unsound_file_is_replaced(matrix, "found another format");
  save_tensors(
      path, {{"format", "kinflow eigen 1"}},
      {{"eigenvectors", parts.eigenvectors.to(nd::kFloat)},
       {"eigenvalues", nd::cat({parts.eigenvectors.flatten(), parts.eigenvalues})}});
  expect_unsound_file_is_replaced(matrix, "found another size");
  save_tensors(path, {{"format", "kinflow eigen 1"}},
               {{"eigenvectors", parts.eigenvectors},
                {"eigenvalues", parts.eigenvalues.unsqueeze(0)}});
  expect_unsound_file_is_replaced(matrix, "tensor 'eigenvalues'");
  // The whole and sound decomposition of another matrix, renamed.
  fs::remove(path);
  decompose(random_relationship(6));
  fs::rename(only_file(), path);
  expect_unsound_file_is_replaced(matrix, "found one of another matrix");
}

TEST_F(DecompositionCacheTest, NumbersThatAreNoDecompositionOfTheMatrixAreNotUsed) {
  const Array matrix = random_relationship(5);
  const auto good = decompose(matrix);
  const std::string path = only_file();
  const auto key = std::stoull(path.substr(path.find(".eigen-") + 7, 16), nullptr, 16);
  // A file that says of itself that it is whole.
  const auto forge = [&](const Array& vectors, const Array& values) {
    const auto hash = [](const Array& tensor, std::uint64_t seed) {
      return hash_of(
          {tensor.data_ptr<double>(), static_cast<std::size_t>(tensor.numel())}, seed);
    };
    save_tensors(
        path,
        {{"format", "kinflow eigen 1"},
         {"checksum", fmt::format("{:016x}", hash(vectors, hash(values, key)))}},
        {{"eigenvectors", vectors}, {"eigenvalues", values}});
  };
  forge(good.eigenvectors, good.eigenvalues);
  decompose(matrix);
  ASSERT_TRUE(was_found());

  const std::string why = "found one of another matrix";
  const auto other = decompose_relationship(random_relationship(6));
  forge(other.eigenvectors, other.eigenvalues);
  expect_unsound_file_is_replaced(matrix, why);
  forge(good.eigenvectors, other.eigenvalues);
  expect_unsound_file_is_replaced(matrix, why);
  // Q'G x = D Q'x holds for a multiple of an eigenvector too.
  Array longer = good.eigenvectors.clone();
  longer.select(1, 7).mul_(1 + 1e-6);
  forge(longer, good.eigenvalues);
  expect_unsound_file_is_replaced(matrix, why);
  Array changed = good.eigenvalues.clone();
  changed[kCachedRows - 1] *= 1 + 1e-6;
  forge(good.eigenvectors, changed);
  expect_unsound_file_is_replaced(matrix, why);
  forge(good.eigenvectors.flip(1).contiguous(), good.eigenvalues.flip(0).contiguous());
  expect_unsound_file_is_replaced(matrix, why);
  for (const double value : {-1.0, std::nan("")}) {
    changed = good.eigenvalues.clone();
    changed[0] = value;
    forge(good.eigenvectors, changed);
    expect_unsound_file_is_replaced(matrix, why);
  }
  Array broken = good.eigenvectors.clone();
  broken[3][4] = std::nan("");
  forge(broken, good.eigenvalues);
  expect_unsound_file_is_replaced(matrix, why);
}

TEST_F(DecompositionCacheTest, AFolderInPlaceOfTheFileIsNoFailure) {
  const Array matrix = random_relationship(7);
  decompose(matrix);
  const std::string path = only_file();
  fs::remove(path);
  fs::create_directory(path);
  decompose(matrix);
  EXPECT_EQ(said.warnings.size(), 1u);
  EXPECT_TRUE(said.has_info("the decomposition is not kept: "));
}

TEST_F(DecompositionCacheTest, WithoutAWritableFolderTheWorkGoesOn) {
  cache.folder = folder.path("missing");
  decompose(random_relationship(8));
  EXPECT_TRUE(said.warnings.empty());
  ASSERT_EQ(said.infos.size(), 1u);
  EXPECT_NE(said.infos[0].find("the decomposition is not kept: " +
                               folder.path("missing/G.grm.bin.eigen-")),
            std::string::npos)
      << said.infos[0];
  // No user, not even root, can write here.
  cache.folder = "/proc";
  decompose(random_relationship(8));
  EXPECT_TRUE(said.has_info("the decomposition is not kept: /proc/"));
}

TEST_F(DecompositionCacheTest, WithoutRoomTheWorkGoesOnAndNothingIsLeft) {
  // A limit on the size of files stands in for a full disk.
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  decompose(random_relationship(8));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(said.warnings.empty());
  EXPECT_TRUE(said.has_info("cannot write (File too large)"));
  EXPECT_TRUE(folder.files().empty());
}

TEST_F(DecompositionCacheTest, SmallMatricesAndAnEmptyFolderNameKeepNothing) {
  cache.smallest_rows = kCachedRows + 1;
  decompose(random_relationship(9));
  cache.smallest_rows = kCachedRows;
  cache.folder = "";
  decompose(random_relationship(9));
  EXPECT_TRUE(said.infos.empty());
  EXPECT_TRUE(folder.files().empty());
}

TEST_F(DecompositionCacheTest, TheLeastRecentlyUsedFilesOfTheStemGo) {
  const std::vector<std::string> others = {
      folder.write("G.grm.bin", "a matrix"),
      folder.write("H.grm.bin.eigen-0123456789abcdef.safetensors", "another stem"),
      folder.write("G.grm.bin.eigen-0123456789abcdeX.safetensors", "no hash"),
      folder.write("G.grm.bin.eigen-0123456789abcdef0.safetensors", "no hash")};
  for (const auto& path : others) set_age(path, 1000);
  std::vector<std::string> made;
  for (int i = 0; i < 4; ++i) {
    const auto before = folder.files();
    decompose(random_relationship(static_cast<std::uint64_t>(10 + i)));
    for (const auto& name : folder.files()) {
      if (std::find(before.begin(), before.end(), name) == before.end()) {
        made.push_back(folder.path(name));
      }
    }
  }
  ASSERT_EQ(made.size(), 4u);
  for (int i = 0; i < 4; ++i) set_age(made[static_cast<std::size_t>(i)], 40 - i);
  decompose(random_relationship(10));
  EXPECT_TRUE(was_found());
  decompose(random_relationship(20));
  EXPECT_TRUE(fs::exists(made[0]));
  EXPECT_FALSE(fs::exists(made[1]));
  EXPECT_TRUE(fs::exists(made[2]));
  EXPECT_TRUE(fs::exists(made[3]));
  for (const auto& path : others) EXPECT_TRUE(fs::exists(path)) << path;
}

TEST_F(DecompositionCacheTest, WhatKilledProgramsLeftIsRemovedAfterADay) {
  const std::string name = "G.grm.bin.eigen-0123456789abcdef.safetensors.77.0.tmp";
  const std::string old = folder.write(name, "half");
  const std::string young = folder.write(
      "G.grm.bin.eigen-" + std::string(16, 'a') + ".safetensors.78.0.tmp", "half");
  set_age(old, 25);
  decompose(random_relationship(30));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(DecompositionCacheTest, WhatDecomposeRelationshipRefusesIsRefused) {
  Array matrix = random_relationship(31);
  matrix.diagonal().sub_(10);
  EXPECT_NE(input_error_of([&] {
              decompose_cached(matrix, cache, said);
            }).find("not positive semidefinite"),
            std::string::npos);
  EXPECT_NE(input_error_of([&] {
              decompose_cached(nd::ones({2, 3}, nd::kDouble), cache, said);
            }).find("expected a square matrix"),
            std::string::npos);
  EXPECT_TRUE(folder.files().empty());
}

TEST(DecompositionCacheBeside, TheFileGivesFolderAndStem) {
  EXPECT_EQ(cache_beside("data/G.grm.bin").folder, "data");
  EXPECT_EQ(cache_beside("data/G.grm.bin").stem, "G.grm.bin");
  EXPECT_EQ(cache_beside("G.txt").folder, ".");
  EXPECT_EQ(cache_beside("/G.txt").folder, "/");
}

}  // namespace
}  // namespace kinflow
