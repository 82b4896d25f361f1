// Whose relationship it is, and studies that stand in the place of new ones.
#include <fstream>

#include "gwas_cohort.h"
#include "kinflow/data/read_relationship.h"

namespace kinflow::cli {
namespace {

namespace fs = std::filesystem;

/// A relationship of the cohort without ids, in the order of the .fam and in another.
class GwasMatching : public Gwas {
 protected:
  GwasMatching() {
    run_well(
        {"grm", "--bfile", cohort_.bfile, "--kind", "centered", "--out", path("k")});
    const auto file = read_relationship(path("k"));
    const auto n = static_cast<std::size_t>(file.rows);
    std::string in_order, permuted, ids;
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = place(i, n);
      ids += file.ids[row].family + " " + file.ids[row].individual + "\n";
      for (std::size_t j = 0; j < n; ++j) {
        in_order += fmt::format("{} ", file.dense[i * n + j]);
        permuted += fmt::format("{} ", file.dense[row * n + place(j, n)]);
      }
      in_order += '\n';
      permuted += '\n';
    }
    folder_.write("k.txt", in_order);
    folder_.write("permuted.txt", permuted);
    folder_.write("permuted.people", ids);
  }
  static std::size_t place(std::size_t i, std::size_t n) { return 7 * i % n; }

  Arguments with(const std::string& matrix, const Arguments& more = {}) const {
    return cohort_.gwas(path("o"), "trait1,trait2",
                        kRanks + Arguments{"--relationship", path(matrix)} + more);
  }
  void refused(const Arguments& arguments, const Arguments& mentioned) const {
    expect_refusal(folder_, arguments, mentioned);
  }
};

TEST_F(GwasMatching, AMatrixWithoutIdsIsNotTakenByPosition) {
  for (const std::string matrix : {"k.txt", "permuted.txt"}) {
    refused(with(matrix), {path(matrix), "expected ids of its rows", "found none",
                           "--relationship-ids", "--relationship-by-position"});
  }
  run_well(with("k.txt", {"--relationship-by-position"}));
  const auto by_position = p("o");
  run_well(with("permuted.txt",
                {"--relationship-ids", path("permuted.people"), "--overwrite"}));
  expect_same_p(p("o"), by_position, 1e-6);
  run_well(cohort_.gwas(path("o"), "trait1,trait2",
                        kRanks + Arguments{"--grm", path("k"), "--overwrite"}));
  expect_same_p(p("o"), by_position, 1e-3);  // of float32
}

TEST_F(GwasMatching, ByPositionExcludesIdsAndNeedsTheSameSize) {
  refused(with("permuted.txt", {"--relationship-by-position", "--relationship-ids",
                                path("permuted.people")}),
          {"--relationship-by-position", "--relationship-ids"});
  refused(cohort_.gwas(path("o"), "trait1",
                       kRanks + Arguments{"--relationship-by-position"}),
          {"--relationship-by-position", "--grm", "found none"});
  folder_.write("small.txt", "1 0\n0 1\n");
  refused(with("small.txt", {"--relationship-by-position"}),
          {path("small.txt"), "expected 300 rows", "found 2"});
}

TEST_F(GwasMatching, AFlowTakesAMatrixByPositionToo) {
  run_well(cohort_.gwas(path("o"), "trait1,trait2",
                        small_flow() + Arguments{"--relationship", path("k.txt"),
                                                 "--relationship-by-position"}));
  EXPECT_EQ(read_relationship(path("o.flow.grm.bin")).ids.size(),
            lines_in(path("o.id")));
}

TEST_F(GwasMatching, AWrongMatrixIsBlamedAndNotTheTraits) {
  // Of people whom the table of traits does not have.
  auto pheno = rows_of(cohort_.pheno);
  const auto half = static_cast<std::ptrdiff_t>(pheno.size() / 2);
  std::string others;
  for (auto row = pheno.begin() + 1; row != pheno.begin() + half; ++row) {
    others += (*row)[0] + " " + (*row)[1] + "\n";
  }
  pheno.erase(pheno.begin() + 1, pheno.begin() + half);
  const auto traits = folder_.write("p.tsv", joined(pheno));
  run_well({"grm", "--bfile", cohort_.bfile, "--keep",
            folder_.write("keep.txt", others), "--out", path("half")});
  refused(Arguments{"gwas", "--bfile", cohort_.bfile, "--pheno", traits, "--pheno-name",
                    "trait1", "--grm", path("half"), "--out", path("o")} +
              kRanks,
          {"kinflow: " + path("half.grm.bin"), traits, "found 0"});
  // Of people who differ in their families alone.
  std::string families;
  for (const auto& id : read_relationship(path("k")).ids) {
    families += "X" + id.family + " " + id.individual + "\n";
  }
  folder_.write("families.id", families);
  refused(with("k.txt", {"--relationship-ids", path("families.id")}),
          {"kinflow: " + path("k.txt"), "only the families differ"});
}

TEST_F(Gwas, AnEarlierStudyIsRefusedOrReplacedWhole) {
  const auto flow = cohort_.gwas(path("o"), "trait1,trait2",
                                 small_flow() + Arguments{"--single", "--gz"});
  const auto ranks = [&](const Arguments& more) {
    return cohort_.gwas(path("o"), "trait1,trait2", kRanks + more);
  };
  run_well(flow);
  folder_.write("o.notes.txt", "mine");
  folder_.write("o.model/notes.txt", "mine");
  const auto refused = [&](const Arguments& arguments) {
    expect_refusal(folder_, arguments, {path("o."), "earlier result", "--overwrite"});
  };
  refused(flow);
  refused(flow + Arguments{"--seed", "3"});
  refused(ranks({}));
  refused(ranks(cohort_.covariates()));
  // Input that is wrong leaves it alone, whatever is said.
  expect_refusal(folder_, ranks({"--overwrite", "--maf", "0.6"}), {"--maf"});
  expect_refusal(folder_, cohort_.gwas(path("o"), "trait99", kRanks + kOverwrite),
                 {"'trait99'"});

  run_well(ranks(kOverwrite));
  const auto replaced = results(folder_, "o");
  run_well(cohort_.gwas(path("new"), "trait1,trait2", kRanks));
  for (const auto& [ending, content] : replaced) {
    if (ending == ".notes.txt" || ending == ".model") continue;
    EXPECT_TRUE(fs::exists(path("new" + ending))) << ending << " is left over";
    EXPECT_TRUE(content == content_of(path("new" + ending))) << ending;
  }
  EXPECT_EQ(content_of(path("o.notes.txt")), "mine");
  EXPECT_EQ(content_of(path("o.model/notes.txt")), "mine");
  EXPECT_FALSE(fs::exists(path("o.model/run.json")));
  // Other covariates, and back.
  refused(ranks(cohort_.covariates()));
  run_well(ranks(cohort_.covariates() + kOverwrite));
}

}  // namespace
}  // namespace kinflow::cli
