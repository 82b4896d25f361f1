// Writing genotypes as plink's bed, bim and fam files.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kinflow/core/atomic_file.h"
#include "kinflow/genetics/genotypes.h"

namespace kinflow {

/// Bytes that one variant of this many people takes in a .bed file.
constexpr std::int64_t bed_row_bytes(std::int64_t people) { return (people + 3) / 4; }

/// Writes PREFIX.bed, PREFIX.bim and PREFIX.fam variant by variant. The three files
/// appear together when they are finished, or none of them does. InputError where a
/// name cannot stand in such a file (empty, or with blanks), where a person occurs
/// twice, and where a file cannot be written.
class GenotypeWriter {
 public:
  GenotypeWriter(const std::string& prefix, std::span<const Person> people);

  /// @param counts  numbers of a1 alleles, 0, 1, 2 or kMissingGenotype, of all people
  void add(const Variant& variant, std::span<const std::int8_t> counts);
  /// A variant as it stands in a .bed file, bed_row_bytes() long; the unused bits of
  /// its last byte are 0.
  void add_packed(const Variant& variant, std::string_view bytes);
  /// Gives the files their names. Call once, last.
  void finish();

 private:
  std::int64_t people_;
  std::string prefix_;
  AtomicFile bed_, bim_, fam_;
  std::int64_t variants_ = 0;
  std::string packed_;
};

/// Writes a whole data set.
/// @param fill  fill(variant, counts) puts a variant's numbers of a1 alleles of all
///              people into `counts`; called once for each variant, in order
void write_genotypes(
    const std::string& prefix, std::span<const Variant> variants,
    std::span<const Person> people,
    const std::function<void(std::int64_t variant, std::int8_t* counts)>& fill);

}  // namespace kinflow
