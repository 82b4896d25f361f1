// Tables of the sums of four rows, and their rows picked by genotypes.
#include "kinflow/genetics/kernels/genotype_sums.h"

#include <algorithm>

#include "kinflow/core/vector_kernels.h"

namespace kinflow {
namespace {

constexpr int kLanesOfVector = kLanes<float>;
constexpr int kVectors = static_cast<int>(kPanel) / kLanesOfVector;

/// A row of a panel or a table.
struct Row {
  Vec<float> part[kVectors];
};

inline Row load_row(const float* from) {
  Row row;
  for (int v = 0; v < kVectors; ++v) row.part[v] = load(from + v * kLanesOfVector);
  return row;
}

inline void store_row(float* to, const Row& row) {
  for (int v = 0; v < kVectors; ++v) store<float>(to + v * kLanesOfVector, row.part[v]);
}

inline void add(Row& sum, const Row& row) {
  for (int v = 0; v < kVectors; ++v) sum.part[v] += row.part[v];
}

/// @param panel  [kPeopleOfTable][kPanel]
inline void make_table(const float* panel, float* table) {
  store_row(table, Row{});
  std::int64_t made = 1;
  for (std::int64_t person = 0; person < kPeopleOfTable; ++person) {
    const Row one = load_row(panel + person * kPanel);
    for (std::int64_t r = 0; r < made; ++r) {
      Row row = load_row(table + r * kPanel);
      add(row, one);
      store_row(table + (made + r) * kPanel, row);
      add(row, one);
      store_row(table + (2 * made + r) * kPanel, row);
    }
    made *= 3;
  }
}

void add_pass(const float* tables, const std::uint16_t* offsets, std::int64_t variants,
              float* sums) {
  for (std::int64_t s = 0; s < variants; ++s) {
    Row sum = load_row(sums);
#pragma GCC unroll 12
    for (std::int64_t t = 0; t < kTablesOfPass; ++t) {
      add(sum, load_row(tables + offsets[t]));
    }
    store_row(sums, sum);
    sums += kPanel;
    offsets += kTablesOfPass;
  }
}

void sum(const float* panel, std::int64_t passes, const std::uint16_t* offsets,
         std::int64_t variants, float* sums) {
  alignas(64) float tables[kTablesOfPass * kRowsOfTable * kPanel];
  std::fill(sums, sums + variants * kPanel, 0.0F);
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    for (std::int64_t t = 0; t < kTablesOfPass; ++t) {
      make_table(panel + (pass * kTablesOfPass + t) * kPeopleOfTable * kPanel,
                 tables + t * kRowsOfTable * kPanel);
    }
    add_pass(tables, offsets + pass * variants * kTablesOfPass, variants, sums);
  }
}

}  // namespace

extern const GenotypeSums KINFLOW_TABLE(genotype_sums_, KINFLOW_KERNELS);
const GenotypeSums KINFLOW_TABLE(genotype_sums_, KINFLOW_KERNELS) = {sum};

}  // namespace kinflow
