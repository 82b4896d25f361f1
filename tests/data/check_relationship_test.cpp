// Faults of relationship matrices are found and named; thresholds and scale.
#include "kinflow/data/check_relationship.h"

#include <gtest/gtest.h>

#include "kinflow/data/read_relationship.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

using Numbers = std::vector<double>;
using Rows = std::vector<std::int64_t>;

RelationshipFile named(const std::string& matrix) {
  auto file = parse_relationship(matrix, "g.txt");
  for (std::int64_t i = 0; i < file.rows; ++i) {
    file.ids.push_back({"", std::string(1, static_cast<char>('a' + i))});
  }
  return file;
}

TEST(CheckRelationship, AGoodMatrixHasNoFaults) {
  const auto check = check_relationship(named("1 .5 0\n.5 1 0\n0 0 1\n"));
  EXPECT_TRUE(check.errors.empty());
  EXPECT_TRUE(check.warnings.empty());
  EXPECT_EQ(check.rows, 3);
  EXPECT_EQ(check.related_pairs, 1);
  EXPECT_EQ(check.components, 2);
  EXPECT_EQ(check.largest_component, 2);
  EXPECT_EQ(check.mean_diagonal, 1);
  EXPECT_EQ(check.definiteness, Definiteness::definite);
}

TEST(CheckRelationship, AsymmetryAndBadDiagonalsAreNamed) {
  EXPECT_EQ(check_relationship(named("1 .5\n.1 1\n")).errors,
            (std::vector<std::string>{"expected a symmetric matrix, found 0.1 in row 2 "
                                      "('b'), column 1, but 0.5 in row 1 ('a'), column "
                                      "2"}));
  const auto check = check_relationship(named("1 0 0\n0 0 0\n0 0 -1\n"));
  EXPECT_EQ(check.bad_diagonals, 2);
  EXPECT_EQ(check.errors.front(),
            "expected a positive diagonal, found 2 entries at or below 0: row 2 ('b'), "
            "row 3 ('c')");
  EXPECT_EQ(check.definiteness, Definiteness::unknown);
}

TEST(CheckRelationship, TwinsAreFoundWhateverTheScale) {
  const auto check = check_relationship(named("2 0 1.96\n0 1 0\n1.96 0 2\n"));
  ASSERT_EQ(check.twin_count, 1);
  EXPECT_EQ(check.twins[0].row, 0);
  EXPECT_EQ(check.twins[0].column, 2);
  EXPECT_NEAR(check.twins[0].correlation, 0.98, 1e-12);
  ASSERT_EQ(check.warnings.size(), 2u);
  EXPECT_NE(check.warnings[0].find("the mean diagonal is 1.667"), std::string::npos);
  EXPECT_NE(check.warnings[1].find("row 1 ('a') and row 3 ('c') with 0.9800"),
            std::string::npos);
}

TEST(CheckRelationship, TheComponentThatIsIndefiniteIsNamed) {
  // Rows 1 and 2 are fine; of 3, 4 and 5 each pair is, all three are not.
  const auto file =
      named("1 .5 0 0 0\n.5 1 0 0 0\n0 0 1 .9 -.9\n0 0 .9 1 .9\n0 0 -.9 .9 1\n");
  for (const auto& form : {file, sparsify(file, 0)}) {
    const auto check = check_relationship(form);
    EXPECT_EQ(check.definiteness, Definiteness::indefinite);
    EXPECT_EQ(check.indefinite_rows, (Rows{2, 3, 4}));
    EXPECT_EQ(
        check.errors,
        (std::vector<std::string>{
            "expected a positive semidefinite matrix, found a component of 3 rows "
            "that is not: row 3 ('c'), row 4 ('d'), row 5 ('e')"}));
  }
}

TEST(CheckRelationship, ZeroEigenvaluesAreNoFault) {
  const auto check = check_relationship(named("1 1 1\n1 1 1\n1 1 1\n"));
  EXPECT_EQ(check.definiteness, Definiteness::semidefinite);
  EXPECT_TRUE(check.errors.empty());
}

TEST(CheckRelationship, GiantComponentsAndThoseTooLargeToFactorAreReported) {
  std::string lines;
  for (int i = 0; i < 9; ++i) {
    lines += std::to_string(i) + " " + std::to_string(i) + " 1\n";
    if (i > 0 && i < 6) lines += std::to_string(i) + " 0 0.1\n";
  }
  const auto file = parse_relationship(lines, "g.grm.sp");
  const auto check = check_relationship(file, {.factored_rows = 5, .giant_rows = 4});
  EXPECT_TRUE(check.has_giant_component);
  EXPECT_EQ(check.components, 4);
  EXPECT_EQ(check.largest_component, 6);
  EXPECT_EQ(check.definiteness, Definiteness::unknown);
  EXPECT_EQ(check.warnings.size(), 2u);
  EXPECT_EQ(connected_components(file), (Rows{0, 0, 0, 0, 0, 0, 1, 2, 3}));
}

/// Rows in a line: 1 on the diagonal, `near` between neighbours and `far` between those
/// two apart.
RelationshipFile chain(std::int64_t rows, double near, double far) {
  RelationshipFile file{
      .source = "chain.grm", .ids = {}, .rows = rows, .dense = {}, .sparse = {}};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < rows; ++j) {
      const auto apart = std::abs(i - j);
      file.dense.push_back(apart == 0 ? 1 : apart == 1 ? near : apart == 2 ? far : 0);
    }
  }
  return file;
}

TEST(RequirePositiveSemidefinite, AThresholdThatMakesAMatrixIndefiniteIsRefused) {
  // The eigenvalues lie in the range of 1 + 1.4 cos t + 0.5 cos 2t, which is above 0;
  // without the entries of 0.25 they are 1 + 1.4 cos(k pi / 6).
  const auto whole = chain(5, 0.7, 0.25);
  EXPECT_NO_THROW(require_positive_semidefinite(whole));
  EXPECT_NO_THROW(require_positive_semidefinite(sparsify(whole, 0.2)));
  EXPECT_NO_THROW(require_positive_semidefinite(sparsify(whole, 0.8)));
  // The eigenvector of 1 - 1.4 cos(pi / 6) = -0.2124 is sin(k pi / 6) with alternating
  // signs: largest in the middle.
  const std::string message =
      input_error_of([&] { require_positive_semidefinite(sparsify(whole, 0.5)); });
  EXPECT_TRUE(message.starts_with(
      "chain.grm: expected a positive semidefinite matrix, found the smallest "
      "eigenvalue -0.2124 in a component of 5 rows, mostly at row 3, row "))
      << message;
  EXPECT_TRUE(message.ends_with(
      "; a lower --sparsify keeps more of the matrix, a higher one may break the "
      "component up"))
      << message;
}

TEST(RequirePositiveSemidefinite, OnlyTheRowsThatMatterAreNamed) {
  // e hangs loosely on c, d and f, which are at fault.
  const auto file = named(
      "1 .5 0 0 0 0\n.5 1 0 0 0 0\n0 0 1 .9 .01 -.9\n0 0 .9 1 0 .9\n"
      "0 0 .01 0 1 0\n0 0 -.9 .9 0 1\n");
  const std::string message =
      input_error_of([&] { require_positive_semidefinite(file); });
  EXPECT_NE(message.find("g.txt: expected a positive semidefinite matrix, found the "
                         "smallest eigenvalue -0.8 in a component of 4 rows, mostly at "
                         "row "),
            std::string::npos)
      << message;
  for (const char* name : {"('c')", "('d')", "('f')"}) {
    EXPECT_NE(message.find(name), std::string::npos) << message;
  }
  for (const char* name : {"('a')", "('b')", "('e')", "--sparsify"}) {
    EXPECT_EQ(message.find(name), std::string::npos) << message;
  }
}

TEST(RequirePositiveSemidefinite, TwinsAndRowsOfZeroAreNoFault) {
  EXPECT_NO_THROW(require_positive_semidefinite(named("1 1 1\n1 1 1\n1 1 1\n")));
  EXPECT_NO_THROW(
      require_positive_semidefinite(sparsify(named("1 1 0\n1 1 0\n0 0 0\n"), 0)));
  EXPECT_EQ(input_error_of([] { require_positive_semidefinite(named("1 0\n0 -1\n")); }),
            "g.txt: expected a positive semidefinite matrix, found the smallest "
            "eigenvalue -1 in a component of 1 row, mostly at row 2 ('b')");
}

TEST(RequirePositiveSemidefinite, RoundingPassesAndMoreThanRoundingDoesNot) {
  // Eigenvalues 2 + e and -e; what is allowed is 1e-8 times 2 rows times 2.
  const auto pair = [](double excess) {
    return RelationshipFile{.source = "pair",
                            .ids = {},
                            .rows = 2,
                            .dense = {1, 1 + excess, 1 + excess, 1},
                            .sparse = {}};
  };
  EXPECT_NO_THROW(require_positive_semidefinite(pair(1e-8)));
  EXPECT_NO_THROW(require_positive_semidefinite(pair(3.9e-8)));
  EXPECT_NE(input_error_of([&] {
              require_positive_semidefinite(pair(4.1e-8));
            }).find("-4.1e-08"),
            std::string::npos);
}

TEST(RequirePositiveSemidefinite, LargeComponentsAreRefusedBeforeWork) {
  EXPECT_NO_THROW(require_positive_semidefinite(chain(6, 0.1, 0), 6));
  const auto refusal = [](const RelationshipFile& file) {
    return input_error_of([&] { require_positive_semidefinite(file, 6); });
  };
  const auto dense = chain(7, 0.1, 0);
  const std::string found =
      "chain.grm: expected components of at most 6 rows, found one of 7: row 1, row 2, "
      "row 3, row 4, row 5, ...; ";
  const std::string advice =
      "conjugate gradients (--solver iterative) have no such limit for one matrix";
  EXPECT_EQ(refusal(dense), found + advice);
  EXPECT_EQ(refusal(sparsify(dense, 0)),
            found + "a higher --sparsify may break it up, and " + advice);
}

TEST(ToDense, AMatrixThatDoesNotFitIsRefusedWithWhatWould) {
  const TemporaryFolder machine;
  machine.write("meminfo", "MemAvailable: 2000000 kB\n");
  const MemorySources sources{.processes = machine.path(), .control_groups = "/none"};
  EXPECT_NO_THROW(require_dense_memory(16'000, "g.grm.sp", sources));
  EXPECT_EQ(
      input_error_of([&] { require_dense_memory(40'000, "g.grm.sp", sources); }),
      "g.grm.sp: expected 12.8 GB of memory for a dense matrix of 40000 rows, found "
      "2.0 GB; what needs less: a sparse file (.grm.sp, .mtx) of the same "
      "relationships");
}

TEST(Sparsify, DropsSmallEntriesAndKeepsTheDiagonal) {
  const auto file = named("1 .5 -.04\n.5 .01 .05\n-.04 .05 1\n");
  const auto sparse = sparsify(file, 0.05);
  EXPECT_TRUE(sparse.is_sparse());
  EXPECT_EQ(sparse.ids, file.ids);
  EXPECT_EQ(to_dense(sparse), (Numbers{1, .5, 0, .5, .01, .05, 0, .05, 1}));
  EXPECT_EQ(sparse.sparse.values.size(), 7u);
  EXPECT_EQ(to_dense(sparsify(sparse, 0.5)), (Numbers{1, .5, 0, .5, .01, 0, 0, 0, 1}));
}

TEST(Rescale, TheMeanDiagonalBecomesOne) {
  auto file = named("1 .5\n.5 3\n");
  EXPECT_EQ(mean_diagonal(file), 2);
  EXPECT_EQ(rescale_to_unit_diagonal(file), 0.5);
  EXPECT_EQ(file.dense, (Numbers{.5, .25, .25, 1.5}));
  EXPECT_EQ(rescale_to_unit_diagonal(file), 1);
  auto sparse = sparsify(named("1 .5\n.5 3\n"), 0);
  EXPECT_EQ(rescale_to_unit_diagonal(sparse), 0.5);
  EXPECT_EQ(to_dense(sparse), file.dense);
  auto negative = named("1 0\n0 -2\n");
  EXPECT_EQ(input_error_of([&] { rescale_to_unit_diagonal(negative); }),
            "g.txt: expected a diagonal of positive mean, found -0.5");
}

TEST(MakeSymmetric, SmallDifferencesAreAveragedInSparseRowsToo) {
  auto file = sparsify(named("1 .5000001\n.4999999 1\n"), 0);
  make_symmetric(file);
  EXPECT_EQ(value_at(file, 0, 1), value_at(file, 1, 0));
  EXPECT_NEAR(value_at(file, 0, 1), 0.5, 1e-12);
}

TEST(SelectRows, DenseAndSparseAgree) {
  const auto file = named("1 2 3 0\n2 5 6 7\n3 6 9 0\n0 7 0 4\n");
  const auto dense = select_rows(file, {3, 1, 0});
  const auto sparse = select_rows(sparsify(file, 0), {3, 1, 0});
  EXPECT_EQ(dense.dense, (Numbers{4, 7, 0, 7, 5, 2, 0, 2, 1}));
  EXPECT_EQ(to_dense(sparse), dense.dense);
  EXPECT_EQ(sparse.ids, dense.ids);
  EXPECT_EQ(dense.ids[0].individual, "d");
}

}  // namespace
}  // namespace kinflow
