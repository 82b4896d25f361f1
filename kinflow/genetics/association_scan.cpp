// Blocks of genotypes through the tests, in order.
#include "kinflow/genetics/association_scan.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "kinflow/core/blas_threads.h"
#include "kinflow/core/error.h"
#include "kinflow/core/map_in_order.h"
#include "kinflow/genetics/sexed_genotypes.h"
#include "kinflow/statistics/p_value.h"

namespace kinflow {
namespace {

/// What a thread works with.
struct Bench {
  GenotypeBlock block;
  AssociationTests::Scratch scratch;
  std::vector<SnpResults> results;
};

/// Benches that threads take and give back.
class Benches {
 public:
  std::unique_ptr<Bench> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Bench>();
    auto bench = std::move(free_.back());
    free_.pop_back();
    return bench;
  }
  void give_back(std::unique_ptr<Bench> bench) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(bench));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Bench>> free_;
};

class Scan {
 public:
  Scan(const Genotypes& genotypes, std::span<const std::int64_t> people, int autosomes,
       const AssociationTests& tests, const std::atomic<bool>* stop)
      : genotypes_(genotypes),
        people_(people.size()),
        sexed_(genotypes, people, autosomes),
        tests_(tests),
        stop_(stop) {}

  ScannedBlock test(std::span<const std::int64_t> variants) {
    auto bench = benches_.take();
    read(variants, *bench);
    tests_.test(bench->block, bench->scratch, bench->results, stop_);
    ScannedBlock block{variants, {}, {}};
    for (const auto& results : bench->results) {
      block.log10_p.push_back(results.log10_p);
      block.lines.push_back(format(variants, *bench, results));
    }
    benches_.give_back(std::move(bench));
    return block;
  }

 private:
  void read(std::span<const std::int64_t> variants, Bench& bench) const {
    const auto n = people_;
    bench.block.genotypes.resize(n * variants.size());
    bench.block.counts.resize(variants.size());
    for (std::size_t s = 0; s < variants.size(); ++s) {
      sexed_.read(variants[s], &bench.block.genotypes[s * n]);
      bench.block.counts[s] = sexed_.count(variants[s]);
    }
  }

  std::string format(std::span<const std::int64_t> variants, const Bench& bench,
                     const SnpResults& results) const {
    const auto traits = results.effects.size() / variants.size();
    std::vector<Association> rows(variants.size());
    for (std::size_t s = 0; s < variants.size(); ++s) {
      const auto& variant =
          genotypes_.variants()[static_cast<std::size_t>(variants[s])];
      auto& row = rows[s];
      row.chromosome = variant.chromosome;
      row.position = variant.position;
      row.id = variant.id;
      row.a1 = variant.a1;
      row.a2 = variant.a2;
      row.a1_frequency = sexed_.a1_frequency(variants[s]);
      row.people = bench.block.counts[s].known();
      for (std::size_t t = 0; t < traits; ++t) {
        row.effects.push_back(results.effects[t * variants.size() + s]);
        row.standard_errors.push_back(results.standard_errors[t * variants.size() + s]);
      }
      row.chi_squared = results.chi_square[s];
      row.log10_p = results.log10_p[s];
      row.p = p_of_log10(row.log10_p);
    }
    return format_associations(rows, traits);
  }

  const Genotypes& genotypes_;
  std::size_t people_;
  SexedGenotypes sexed_;
  const AssociationTests& tests_;
  const std::atomic<bool>* stop_;
  Benches benches_;
};

}  // namespace

void scan_variants(const Genotypes& genotypes, std::span<const std::int64_t> people,
                   std::span<const std::int64_t> variants,
                   const AssociationTests& tests, const ScanOptions& options,
                   const std::function<void(const ScannedBlock&)>& take) {
  const BlasInCallingThread one_thread_each;
  Scan scan(genotypes, people, options.autosomes, tests, options.stop);
  std::size_t next = 0;
  map_in_order(
      options.threads,
      [&]() -> std::optional<std::span<const std::int64_t>> {
        if (options.stop != nullptr && *options.stop) {
          throw Interrupted("interrupted between two variants");
        }
        if (next == variants.size()) return {};
        const auto count = std::min<std::size_t>(kScanBlock, variants.size() - next);
        const auto block = variants.subspan(next, count);
        next += count;
        return block;
      },
      [&](std::span<const std::int64_t> block) { return scan.test(block); },
      [&](const ScannedBlock& block) { take(block); });
}

}  // namespace kinflow
