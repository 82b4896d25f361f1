// Written matrices read back, in every format and along every way between two of them.
#include "kinflow/data/write_relationship.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kinflow/core/random.h"
#include "kinflow/data/read_relationship.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

using Numbers = std::vector<double>;

/// A matrix with zeros, ids with and without a family, and numbers of many digits.
RelationshipFile example(std::int64_t rows) {
  Random random(11);
  const auto n = static_cast<std::size_t>(rows);
  RelationshipFile file{.source = "example",
                        .ids = {},
                        .rows = rows,
                        .dense = Numbers(n * n),
                        .sparse = {},
                        .variants = 100};
  for (std::size_t i = 0; i < n; ++i) {
    file.ids.push_back(
        {i % 3 == 0 ? "" : fmt::format("f{}", i), fmt::format("i{}", i)});
    for (std::size_t j = 0; j < i; ++j) {
      const double value = random.below(3) == 0 ? 0 : random.uniform() - 0.5;
      file.dense[i * n + j] = file.dense[j * n + i] = value;
    }
    file.dense[i * n + i] = 1 + random.uniform();
  }
  return file;
}

void expect_same(const RelationshipFile& left, const RelationshipFile& right,
                 double tolerance) {
  EXPECT_EQ(left.ids, right.ids);
  const auto a = to_dense(left), b = to_dense(right);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance);
}

const std::vector<std::string> kNames = {
    "g.npy", "g.grm.bin", "g.grm.gz",  "g.grm.sp", "g.rel",    "g.rel.gz", "g.rel.bin",
    "g.mtx", "g.mtx.gz",  "g.cXX.txt", "g.csv",    "g.txt.gz", "g.kin0"};

TEST(WriteRelationship, EveryFormatReadsBackFromEveryOther) {
  const auto dense = example(17);
  for (const auto& from : kNames) {
    const TemporaryFolder first;
    write_relationship(first.path(from), dense);
    const auto once = read_relationship(first.path(from));
    const double tolerance = from == "g.grm.bin" ? 1e-7 : 0;
    expect_same(once, dense, tolerance);
    for (const auto& to : kNames) {
      SCOPED_TRACE(from + " to " + to);
      const TemporaryFolder second;
      const auto written = write_relationship(second.path(to), once);
      EXPECT_EQ(written.size(), second.files().size());
      expect_same(read_relationship(second.path(to)), dense,
                  to == "g.grm.bin" ? 1e-7 : tolerance);
    }
  }
}

TEST(WriteRelationship, GctaFilesHaveTheirOwnLayout) {
  const TemporaryFolder folder;
  auto file = example(3);
  EXPECT_EQ(
      write_relationship(folder.path("g.grm.bin"), file),
      (std::vector<std::string>{folder.path("g.grm.id"), folder.path("g.grm.N.bin"),
                                folder.path("g.grm.bin")}));
  EXPECT_EQ(content_of(folder.path("g.grm.bin")).size(), 24u);
  EXPECT_EQ(content_of(folder.path("g.grm.N.bin")).size(), 24u);
  EXPECT_EQ(content_of(folder.path("g.grm.id")), "0\ti0\nf1\ti1\nf2\ti2\n");
  EXPECT_EQ(read_relationship(folder.path("g")).variants, 100);
  file.dense = {1, 0, .5, 0, 1, 0, .5, 0, 1};
  write_relationship(folder.path("g.grm.sp"), file);
  EXPECT_EQ(content_of(folder.path("g.grm.sp")),
            "0\t0\t1\n1\t1\t1\n2\t0\t0.5\n2\t2\t1\n");
}

TEST(WriteRelationship, WhatAFormatCannotHoldIsRefused) {
  const TemporaryFolder folder;
  auto file = example(3);
  for (const std::string name : {"g.king", "g.fam", "g.bin", "g.npy.gz", "g"}) {
    const auto message =
        input_error_of([&] { write_relationship(folder.path(name), file); });
    EXPECT_EQ(message.rfind(folder.path(name) + ": expected a name that ends in", 0),
              0u)
        << message;
  }
  file.ids[1].individual = "i 1";
  EXPECT_EQ(input_error_of([&] { write_relationship(folder.path("g.npy"), file); }),
            folder.path("g.npy") +
                ": expected ids without blanks, commas and quotes, which the format "
                "cannot hold, found 'f1 i 1'");
  file.ids.clear();
  EXPECT_EQ(input_error_of([&] { write_relationship(folder.path("g.grm.sp"), file); }),
            folder.path("g.grm.sp") +
                ": expected ids, which this format needs, found none in example; give "
                "--ids FILE");
  EXPECT_TRUE(folder.files().empty());
  EXPECT_EQ(write_relationship(folder.path("g.npy"), file).size(), 1u);
}

TEST(Gzip, CutAndDamagedDataAreRefused) {
  const TemporaryFolder folder;
  write_relationship(folder.path("g.grm.gz"), example(17));
  const std::string whole = content_of(folder.path("g.grm.gz"));
  const auto error = [&](const std::string& bytes) {
    return input_error_of([&] { parse_relationship(bytes, "g.grm.gz"); });
  };
  EXPECT_EQ(error(whole.substr(0, whole.size() / 2)),
            "g.grm.gz: the gzip data end before they are complete");
  EXPECT_EQ(error(whole.substr(0, whole.size() - 1)),
            "g.grm.gz: the gzip data end before they are complete");
  std::string damaged = whole;
  damaged[whole.size() / 2] = static_cast<char>(~damaged[whole.size() / 2]);
  EXPECT_FALSE(error(damaged).empty());
  EXPECT_EQ(error(whole + "noise"), "g.grm.gz: the gzip data are damaged");
  // Members in a row are one text, as of files joined with cat.
  EXPECT_EQ(input_error_of([&] { parse_relationship(whole + whole, "g.grm.gz"); }),
            "g.grm.gz: expected 153 lines, one for each pair of 17 rows, found 306");
}

}  // namespace
}  // namespace kinflow
