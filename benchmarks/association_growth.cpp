// Score tests of variants streamed from the disk: speed by people, traits and threads.
//
//     benchmark_association_growth [PREFIX [SNPS]]
//
// PREFIX names bed, bim and fam files of at least 10,000 people; without it random
// genotypes are written to the folder for temporary files. The first SNPS variants are
// tested, 4096 unless told. The decomposition of a relationship is not measured: the
// eigenvectors are cosines. Prints a table for docs/benchmarks.md.
#include <cblas.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numbers>
#include <numeric>

#include "kinflow/core/random.h"
#include "kinflow/genetics/association_scan.h"
#include "kinflow/genetics/trait_values.h"
#include "kinflow/genetics/write_genotypes.h"
#include "measure.h"

namespace kinflow {
namespace {

constexpr std::int64_t kPeopleCounts[] = {1000, 3000, 10'000};
constexpr std::int64_t kMostPeople = 10'000;
constexpr std::int64_t kTraitCounts[] = {1, 6, 12};
constexpr int kRounds = 3;

/// Orthonormal vectors, the first one constant, and eigenvalues of both relatives and
/// people without any.
RelationshipEigen cosines(std::int64_t people) {
  const auto n = static_cast<std::size_t>(people);
  RelationshipEigen eigen{people, std::vector<double>(n), std::vector<double>(n * n)};
  const double count = static_cast<double>(people);
  std::vector<double> period(4 * n);
  for (std::size_t i = 0; i < period.size(); ++i) {
    period[i] = std::cos(std::numbers::pi * static_cast<double>(i) / (2 * count));
  }
  for (std::size_t j = 0; j < n; ++j) {
    eigen.values[j] = 2 * static_cast<double>(j) / count;
    const double scale = std::sqrt((j == 0 ? 1 : 2) / count);
    for (std::size_t i = 0; i < n; ++i) {
      eigen.vectors[j * n + i] = scale * period[(2 * i + 1) * j % (4 * n)];
    }
  }
  return eigen;
}

NamedColumns random_traits(std::int64_t people, std::int64_t count) {
  Random random(5);
  NamedColumns traits;
  for (std::int64_t t = 0; t < count; ++t) {
    traits.names.push_back(fmt::format("trait{}", t + 1));
  }
  traits.values.resize(static_cast<std::size_t>(people * count));
  for (auto& value : traits.values) value = random.normal();
  return traits;
}

void write_random_genotypes(const std::string& prefix, std::int64_t snps) {
  Random random(6);
  std::vector<Person> people;
  for (std::int64_t i = 0; i < kMostPeople; ++i) {
    people.push_back({{std::to_string(i), std::to_string(i)}, "", "", 1});
  }
  std::vector<Variant> variants;
  for (std::int64_t s = 0; s < snps; ++s) {
    variants.push_back({"1", fmt::format("rs{}", s), 0, s + 1, "A", "G"});
  }
  write_genotypes(prefix, variants, people, [&](std::int64_t, std::int8_t* counts) {
    const double frequency = random.uniform(0.05, 0.5);
    for (std::int64_t i = 0; i < kMostPeople; ++i) {
      counts[i] = static_cast<std::int8_t>((random.uniform() < frequency) +
                                           (random.uniform() < frequency));
    }
  });
}

struct Rates {
  double per_processor_second, one_thread, two_threads;
  /// Processor seconds of two threads for those of one: 1 where threads do not disturb
  /// each other.
  double cost_of_two;
};

Rates measure(const Genotypes& genotypes, const RelationshipEigen& eigen,
              std::int64_t traits, std::int64_t snps) {
  const auto n = static_cast<std::size_t>(eigen.rows);
  const AssociationTests tests(eigen, {{"traits", random_traits(eigen.rows, traits)}},
                               with_intercept({}, eigen.rows), TestKind::score);
  std::vector<std::int64_t> people(n), variants(static_cast<std::size_t>(snps));
  std::iota(people.begin(), people.end(), 0);
  std::iota(variants.begin(), variants.end(), 0);
  const auto scan = [&](std::int64_t threads) {
    scan_variants(genotypes, people, variants, tests, {.threads = threads},
                  [](const ScannedBlock&) {});
  };
  std::vector<double> one, two, one_processor, two_processor;
  for (int round = 0; round < kRounds; ++round) {
    one_processor.push_back(
        processor_seconds_of([&] { one.push_back(seconds_of([&] { scan(1); })); }));
    two_processor.push_back(
        processor_seconds_of([&] { two.push_back(seconds_of([&] { scan(2); })); }));
  }
  const auto count = static_cast<double>(snps);
  return {count / median(one_processor), count / median(one), count / median(two),
          median(two_processor) / median(one_processor)};
}

void measure_all(const std::string& prefix, std::int64_t snps) {
  openblas_set_num_threads(1);
  const Genotypes genotypes(prefix);
  fmt::print(
      "| people | traits | SNPs a processor second | SNPs/s, one thread | two threads "
      "| ratio | processor time of two for that of one "
      "|\n|---:|---:|---:|---:|---:|---:|---:|\n");
  for (const auto people : kPeopleCounts) {
    const auto eigen = cosines(people);
    for (const auto traits : kTraitCounts) {
      const auto rates = measure(genotypes, eigen, traits, snps);
      fmt::print("| {} | {} | {:.0f} | {:.0f} | {:.0f} | {:.2f} | {:.2f} |\n", people,
                 traits, rates.per_processor_second, rates.one_thread,
                 rates.two_threads, rates.two_threads / rates.one_thread,
                 rates.cost_of_two);
      std::fflush(stdout);
    }
  }
  fmt::print("\nPeak memory {:.0f} MB.\n", peak_megabytes());
}

}  // namespace
}  // namespace kinflow

int main(int count, char** arguments) {
  using namespace kinflow;
  const std::int64_t snps = count > 2 ? std::atoll(arguments[2]) : 4096;
  if (count > 1) {
    measure_all(arguments[1], snps);
    return 0;
  }
  const auto folder = std::filesystem::temp_directory_path() /
                      fmt::format("kinflow_growth_{}", getpid());
  std::filesystem::create_directories(folder);
  const auto prefix = (folder / "random").string();
  write_random_genotypes(prefix, snps);
  measure_all(prefix, snps);
  std::filesystem::remove_all(folder);
}
