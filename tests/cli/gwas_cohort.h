// A small simulated cohort for the tests of kinflow gwas.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "kinflow/genetics/association_file.h"
#include "run_binary.h"
#include "tests/genetics/bed_files.h"

namespace kinflow::cli {

using TableRows = std::vector<std::vector<std::string>>;

inline TableRows rows_of(const std::string& path) {
  TableRows rows;
  std::istringstream lines(content_of(path));
  for (std::string line, cell; std::getline(lines, line);) {
    rows.emplace_back();
    for (std::istringstream cells(line); std::getline(cells, cell, '\t');) {
      rows.back().push_back(cell);
    }
  }
  return rows;
}

inline std::string joined(const TableRows& rows, const std::string& separator = "\t") {
  std::string text;
  for (const auto& row : rows) {
    text += fmt::format("{}\n", fmt::join(row, separator));
  }
  return text;
}

inline std::vector<Association> associations(const std::string& path) {
  AssociationReader reader(path);
  std::vector<Association> rows;
  for (Association row; reader.next(row);) rows.push_back(row);
  return rows;
}

inline std::vector<double> p_of(const std::string& path) {
  std::vector<double> p;
  for (const auto& row : associations(path)) p.push_back(row.p);
  return p;
}

/// Expects the same tests, up to a difference of the logarithms of p-values.
inline void expect_same_p(const std::vector<double>& p,
                          const std::vector<double>& other, double tolerance) {
  ASSERT_EQ(p.size(), other.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    ASSERT_NEAR(std::log10(p[i]), std::log10(other[i]), tolerance) << i;
  }
}

/// People of three chromosomes with six traits, some values and genotypes missing, and
/// age and sex. Read by many tests and changed by none.
class Cohort {
  const TemporaryFolder folder_;

 public:
  static const Cohort& get() {
    static const Cohort cohort;
    return cohort;
  }

  const std::string bfile, pheno, covar;

  /// gwas of some traits, with more options; writes to `out`.
  Arguments gwas(const std::string& out, const std::string& traits,
                 const Arguments& more = {}) const {
    return Arguments{"gwas",         "--bfile", bfile,   "--pheno", pheno,
                     "--pheno-name", traits,    "--out", out} +
           more;
  }
  Arguments covariates() const { return {"--covar", covar}; }

 private:
  Cohort()
      : bfile(folder_.path("sim/cohort")),
        pheno(folder_.path("sim/pheno.tsv")),
        covar(folder_.path("sim/covar.tsv")) {
    run_well({"simulate", "--cohort", "--people", "300", "--snps", "500",
              "--chromosomes", "3", "--loci", "4", "--seed", "11", "--heritability",
              "0.7", "--out", folder_.path("sim"), "--threads", "1"});
  }
};

/// A flow that is trained in a fraction of a second.
inline Arguments small_flow(const std::string& epochs = "3") {
  return {"--hidden", "8", "--epochs", epochs, "--batch-size", "64", "--replicas", "1"};
}

inline const Arguments kPlain = {"--transform", "none"};
inline const Arguments kRanks = {"--transform", "rank-normal"};

/// Files of a study whose bytes say the same in every run.
inline std::map<std::string, std::string> results(const TemporaryFolder& folder,
                                                  const std::string& name) {
  std::map<std::string, std::string> files;
  for (const auto& [path, content] : content_below(folder.path())) {
    const auto file = std::filesystem::path(path).filename().string();
    const auto ending = file.substr(std::min(file.size(), name.size()));
    // The log and the page name the files of the study.
    const bool names_files = ending == ".log" || ending == ".report.html";
    if (!file.starts_with(name + ".") || names_files) continue;
    files[ending] = content;
  }
  return files;
}

class Gwas : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::vector<double> p(const std::string& name) const {
    return p_of(path(name + ".assoc.tsv"));
  }
  /// Runs a study of some traits, in place of an earlier one, and gives its p-values.
  std::vector<double> study(const std::string& name, const std::string& traits,
                            const Arguments& more) const {
    run_well(cohort_.gwas(path(name), traits, more + kOverwrite));
    return p(name);
  }

  const Cohort& cohort_ = Cohort::get();
  TemporaryFolder folder_;
};

}  // namespace kinflow::cli
