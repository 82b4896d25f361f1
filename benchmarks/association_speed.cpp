// Null models and tests of SNPs on one core, in turns with GEMMA where it is installed.
//
//     benchmark_association [ROWS SNPS]    1416 rows and 10000 SNPs unless told
//
// Seconds are those of the processor. GEMMA's null model is what its score run takes
// beyond the one of a single trait, less the tests; its tests are what its log calls
// optimization.
#include <cblas.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "kinflow/core/random.h"
#include "kinflow/genetics/genotype_rotation.h"
#include "kinflow/genetics/score_test.h"
#include "kinflow/genetics/wald_test.h"
#include "measure.h"

namespace kinflow {
namespace {

constexpr std::int64_t kMostTraits = 12;
constexpr std::int64_t kTraitCounts[] = {1, 2, 4, 6, 12};
/// GEMMA's Wald tests take minutes from here on.
constexpr std::int64_t kMostWaldTraits = 4;

struct Cohort {
  std::int64_t rows = 0, snps = 0;
  std::vector<double> genotypes;     ///< [rows x snps]
  std::vector<double> relationship;  ///< centred
  std::vector<double> traits;        ///< [rows x kMostTraits]
};

/// Families of four that share half of their genotypes; half of the variance of every
/// trait comes from all SNPs together.
Cohort simulate(std::int64_t rows, std::int64_t snps) {
  Random random(1);
  Cohort cohort{rows, snps, {}, {}, {}};
  const auto n = static_cast<std::size_t>(rows), m = static_cast<std::size_t>(snps);
  cohort.genotypes.resize(n * m);
  std::vector<double> centered(n * m);
  for (std::size_t s = 0; s < m; ++s) {
    const double frequency = random.uniform(0.1, 0.5);
    double shared = 0, mean = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (i % 4 == 0) shared = random.uniform() < frequency ? 1 : 0;
      cohort.genotypes[s * n + i] = shared + (random.uniform() < frequency ? 1 : 0);
      mean += cohort.genotypes[s * n + i] / static_cast<double>(rows);
    }
    for (std::size_t i = 0; i < n; ++i) {
      centered[s * n + i] = cohort.genotypes[s * n + i] - mean;
    }
  }
  cohort.relationship.resize(n * n);
  const auto order = static_cast<int>(rows), count = static_cast<int>(snps);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, order, order, count,
              1 / static_cast<double>(snps), centered.data(), order, centered.data(),
              order, 0, cohort.relationship.data(), order);
  cohort.traits.assign(n * kMostTraits, 0);
  std::vector<double> shared_effects(m);
  for (auto& effect : shared_effects) effect = random.normal();
  for (std::size_t t = 0; t < kMostTraits; ++t) {
    std::vector<double> effects(m);
    for (std::size_t s = 0; s < m; ++s) {
      effects[s] = (shared_effects[s] + random.normal()) * 1.2 /
                   std::sqrt(static_cast<double>(snps));
    }
    cblas_dgemv(CblasColMajor, CblasNoTrans, order, count, 1, centered.data(), order,
                effects.data(), 1, 0, &cohort.traits[t * n], 1);
    for (std::size_t i = 0; i < n; ++i) cohort.traits[t * n + i] += random.normal();
  }
  return cohort;
}

class Gemma {
 public:
  explicit Gemma(const Cohort& cohort)
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("kinflow_association_{}", getpid())) {
    is_there_ = std::system("command -v gemma > /dev/null") == 0;
    if (!is_there_) return;
    std::filesystem::create_directories(folder_);
    std::ofstream people(folder_ / "t.fam"), variants(folder_ / "t.bim"),
        relationship(folder_ / "k.txt"), bed(folder_ / "t.bed", std::ios::binary);
    const auto n = static_cast<std::size_t>(cohort.rows);
    for (std::size_t i = 0; i < n; ++i) {
      people << i << ' ' << i << " 0 0 1";
      for (std::size_t t = 0; t < kMostTraits; ++t) {
        people << fmt::format(" {:.10g}", cohort.traits[t * n + i]);
      }
      people << '\n';
      for (std::size_t j = 0; j < n; ++j) {
        relationship << fmt::format("{:.10g}\t", cohort.relationship[j * n + i]);
      }
      relationship << '\n';
    }
    bed << "\x6c\x1b\x01";
    for (std::size_t s = 0; s < static_cast<std::size_t>(cohort.snps); ++s) {
      variants << fmt::format("1\trs{}\t0\t{}\tA\tG\n", s, s + 1);
      std::string bytes((n + 3) / 4, '\0');
      for (std::size_t i = 0; i < n; ++i) {
        const double count = cohort.genotypes[s * n + i];
        const unsigned code = count == 2 ? 0 : count == 1 ? 2 : 3;
        bytes[i / 4] = static_cast<char>(static_cast<unsigned char>(bytes[i / 4]) |
                                         code << 2 * (i % 4));
      }
      bed << bytes;
    }
  }
  ~Gemma() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Gemma(const Gemma&) = delete;
  Gemma& operator=(const Gemma&) = delete;

  bool is_there() const { return is_there_; }

  struct Seconds {
    double total = 0, tests = 0;
  };
  Seconds run(std::int64_t traits, bool is_wald) const {
    std::string columns;
    for (std::int64_t t = 1; t <= traits; ++t) columns += fmt::format(" {}", t);
    const auto command = fmt::format(
        "cd {} && OPENBLAS_NUM_THREADS=1 gemma -bfile t -k k.txt -lmm {} -n{} -o t > "
        "/dev/null 2> /dev/null",
        folder_.string(), is_wald ? 1 : 3, columns);
    if (std::system(command.c_str()) != 0) return {};
    std::ifstream log(folder_ / "output" / "t.log.txt");
    Seconds seconds;
    for (std::string line; std::getline(log, line);) {
      const auto value = [&] {
        return 60 * std::stod(line.substr(line.find('=') + 1));
      };
      if (line.find("total computation time") != std::string::npos) {
        seconds.total = value();
      }
      if (line.find("time on optimization") != std::string::npos) {
        seconds.tests = value();
      }
    }
    return seconds;
  }

 private:
  std::filesystem::path folder_;
  bool is_there_ = false;
};

GenotypeBlock block_of(const Cohort& cohort) {
  GenotypeBlock block;
  block.genotypes.assign(cohort.genotypes.begin(), cohort.genotypes.end());
  block.counts.resize(static_cast<std::size_t>(cohort.snps));
  const auto n = static_cast<std::size_t>(cohort.rows);
  for (std::size_t i = 0; i < block.genotypes.size(); ++i) {
    auto& counts = block.counts[i / n];
    const auto genotype = block.genotypes[i];
    ++(genotype == 2   ? counts.homozygous_a1
       : genotype == 1 ? counts.heterozygous
                       : counts.homozygous_a2);
  }
  return block;
}

void measure(std::int64_t rows, std::int64_t snps) {
  openblas_set_num_threads(1);
  const auto cohort = simulate(rows, snps);
  const Gemma gemma(cohort);
  RelationshipEigen eigen;
  const double eigen_seconds = processor_seconds_of(
      [&] { eigen = eigen_of_relationship(cohort.relationship, rows); });
  const GenotypeRotation rotation(eigen.vectors, rows);
  const auto block = block_of(cohort);
  GenotypeRotation::Scratch scratch;
  std::vector<double> rotated(cohort.genotypes.size());
  const double rotation_seconds =
      processor_seconds_of([&] { rotation.rotate(block, scratch, rotated.data()); });
  fmt::print("{} rows, {} SNPs: decomposition {:.2f} s, rotation {:.2f} s\n", rows,
             snps, eigen_seconds, rotation_seconds);
  fmt::print(
      "traits | null s | score SNPs/s | Wald SNPs/s | GEMMA: null s | score SNPs/s | "
      "Wald SNPs/s\n");
  double single_rest = 0;
  for (const auto traits : kTraitCounts) {
    NamedColumns columns,
        intercept{{"intercept"},
                  std::vector<double>(static_cast<std::size_t>(rows), 1)};
    for (std::int64_t t = 0; t < traits; ++t) {
      columns.names.push_back(fmt::format("trait{}", t + 1));
    }
    columns.values.assign(cohort.traits.begin(), cohort.traits.begin() + traits * rows);
    const auto data = make_mixed_model_data(eigen, columns, intercept);
    MixedModelFit null;
    const double null_seconds = processor_seconds_of(
        [&] { null = fit_mixed_model(data, LikelihoodKind::full); });
    SnpResults results;
    const auto per_second = [&](double seconds) {
      return static_cast<double>(snps) / seconds;
    };
    std::vector<double> score_times;
    for (int i = 0; i < 3; ++i) {
      score_times.push_back(processor_seconds_of(
          [&] { FixedVarianceTest(data, null).test(rotated.data(), snps, results); }));
    }
    const double wald_seconds = processor_seconds_of(
        [&] { WaldTest(data, null).test(rotated.data(), snps, results); });
    fmt::print("{} | {:.4f}{} | {:.0f} | {:.0f}", traits, null_seconds,
               null.has_converged ? "" : " (not converged)",
               per_second(median(score_times)), per_second(wald_seconds));
    if (gemma.is_there()) {
      const auto score = gemma.run(traits, false);
      const double rest = score.total - score.tests;
      if (traits == 1) single_rest = rest;
      fmt::print(" | {:.1f} | {:.0f}", rest - single_rest, per_second(score.tests));
      if (traits <= kMostWaldTraits) {
        fmt::print(" | {:.0f}", per_second(gemma.run(traits, true).tests));
      }
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace kinflow

int main(int count, char** arguments) {
  kinflow::measure(count > 1 ? std::atoll(arguments[1]) : 1416,
                   count > 2 ? std::atoll(arguments[2]) : 10'000);
}
