// Principal components of plink, GCTA and tables.
#include "kinflow/data/principal_components.h"

#include <gtest/gtest.h>

#include "tests/data/helpers.h"

namespace kinflow {
namespace {

using Numbers = std::vector<double>;
using Ids = std::vector<SampleId>;

std::string components_error(const std::string& path) {
  return input_error_of([&] { read_principal_components(path, {}); });
}

TEST(PrincipalComponents, FilesOfPlinkAndGctaAreReadWithTheirIds) {
  const TemporaryFolder folder;
  const Ids both = {{"f", "a"}, {"", "b"}};
  for (const std::string text : {"f a 1 -2.5\n0 b 3e-2 4\n",
                                 "#FID\tIID\tPC1\tPC2\nf\ta\t1\t-2.5\n0\tb\t0.03\t4\n",
                                 "\xef\xbb\xbf"
                                 "f a 1 -2.5\n0 b 0.03 4\n",
                                 "FID IID PC1 PC2\nf a 1 -2.5\n0 b 0.03 4"}) {
    const auto read =
        read_principal_components(folder.write("c.eigenvec", text), {"ignored"});
    EXPECT_EQ(read.rows, 2);
    EXPECT_EQ(read.columns, 2);
    EXPECT_EQ(read.ids, both);
    EXPECT_EQ(read.values, (Numbers{1, -2.5, 0.03, 4}));
  }
  const auto individuals = read_principal_components(
      folder.write("c.eigenvec", "#IID PC1 PC2 PC3\na 1 2 3\nb 4 5 6\n"), {});
  EXPECT_EQ(individuals.ids, (Ids{{"", "a"}, {"", "b"}}));
  EXPECT_EQ(individuals.columns, 3);
}

TEST(PrincipalComponents, TablesHaveIdsWhereTheirColumnsAreNamed) {
  const TemporaryFolder folder;
  const auto path = folder.write("c.csv", "person,pc1,pc2\na,1,2\nb,3,4\n");
  EXPECT_EQ(read_principal_components(path, {"person"}).ids,
            (Ids{{"", "a"}, {"", "b"}}));
  EXPECT_EQ(read_principal_components(path, {"person"}).values, (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(input_error_of([&] { read_principal_components(path, {}); }),
            path + ":2: column 'person': expected a number, found 'a'");
  const auto plink = folder.write("p.tsv", "#FID\tIID\tPC1\tPC2\nf\ta\t1\t2\n");
  EXPECT_EQ(read_principal_components(plink, {"person"}).ids, (Ids{{"f", "a"}}));
  const auto bare = folder.write("b.csv", "pc1,pc2\n1,2\n3,4\n");
  EXPECT_TRUE(read_principal_components(bare, {"person"}).ids.empty());
}

TEST(PrincipalComponents, WhatIsWrongIsNamed) {
  const TemporaryFolder folder;
  const auto eigenvec = [&](const std::string& text) {
    return components_error(folder.write("c.eigenvec", text));
  };
  const std::string path = folder.path("c.eigenvec");
  EXPECT_EQ(eigenvec("f a 1 2\nf b 3\n"),
            path + ":2: expected 4 cells as in the first line, found 3");
  EXPECT_EQ(eigenvec("f a 1 x\n"), path + ":1: expected a number, found 'x'");
  EXPECT_EQ(eigenvec("f a 1 nan\n"), path + ":1: expected a number, found 'nan'");
  EXPECT_EQ(
      eigenvec("f a 1\n"),
      path + ": expected at least 2 principal components beside the ids, found 1");
  EXPECT_EQ(
      eigenvec("a\nb\n"),
      path + ": expected at least 2 principal components beside the ids, found 0");
  EXPECT_EQ(eigenvec("#FID IID PC1 PC2\n"), path + ": expected rows, found none");
  EXPECT_EQ(eigenvec(""), path + ": expected rows, found none");
  EXPECT_EQ(eigenvec("f a 1 2\nf a 3 4\n"),
            path + ": expected different ids, found 'f a' both as id 1 and as id 2");
}

}  // namespace
}  // namespace kinflow
