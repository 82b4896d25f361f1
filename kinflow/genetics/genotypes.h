// Genotypes in plink's binary files: PREFIX.bed, PREFIX.bim and PREFIX.fam.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kinflow/core/mapped_file.h"
#include "kinflow/data/sample_ids.h"

namespace kinflow {

/// A line of the .bim.
struct Variant {
  std::string chromosome;  ///< as the file has it; see chromosomes.h
  std::string id;          ///< need not be different from others
  double centimorgans = 0;
  std::int64_t position = 0;  ///< in base pairs, not negative
  std::string a1;             ///< the allele that is counted
  std::string a2;
};

// Sex as the .fam writes it.
inline constexpr int kUnknownSex = 0, kMale = 1, kFemale = 2;

/// A line of the .fam, without its phenotype.
struct Person {
  SampleId id;
  std::string father;  ///< individual id in the same family; empty where unknown
  std::string mother;
  int sex = kUnknownSex;

  /// True where both parents are unknown.
  bool is_founder() const { return father.empty() && mother.empty(); }
};

inline constexpr std::int8_t kMissingGenotype = -1;

/// The number of a1 alleles, or kMissingGenotype, of the two bits of a .bed.
inline constexpr std::int8_t kCountOfBits[4] = {2, kMissingGenotype, 1, 0};

/// The prefix of bed, bim and fam files that a user means: without the ending of one of
/// them. InputError, with the command that converts them, for other genotype files, by
/// their ending or beside a prefix without a .bed.
std::string genotype_prefix(const std::string& given);

/// A set of bed, bim and fam files. The .bed stays on the disk, mapped into memory;
/// threads may read at the same time.
class Genotypes {
 public:
  /// InputError, with the file and the place, for: a file that is missing or empty; a
  /// .bed without the magic bytes, with individuals in place of variants as its rows,
  /// or of another size than the other two files say; lines of another width than 6
  /// (of a .fam 6 or more, for more phenotypes, and the same in all); a
  /// position that is no integer from 0; centimorgans that are no number; a person who
  /// occurs twice.
  explicit Genotypes(const std::string& prefix);

  const std::string& prefix() const { return prefix_; }
  const std::vector<Variant>& variants() const { return variants_; }
  const std::vector<Person>& people() const { return people_; }

  /// Numbers of a1 alleles of these people (rows of the .fam, in this order): 0, 1, 2
  /// or kMissingGenotype.
  void read(std::int64_t variant, std::span<const std::int64_t> people,
            std::int8_t* counts) const;
  /// The same of all people.
  void read_all(std::int64_t variant, std::int8_t* counts) const;

  /// The row of the .bed: four people a byte, the first in the lowest two bits, with
  /// the meaning of kCountOfBits. Bits after the last person may be anything.
  std::span<const std::uint8_t> packed(std::int64_t variant) const {
    return bed_.bytes().subspan(
        kHeaderBytes + static_cast<std::size_t>(variant) * row_bytes_, row_bytes_);
  }

 private:
  static constexpr std::size_t kHeaderBytes = 3;

  void check_bed() const;
  /// InputError where the bits behind the last person are not 0, as those of a longer
  /// .fam.
  void check_last_bytes() const;

  std::string prefix_;
  std::vector<Variant> variants_;
  std::vector<Person> people_;
  MappedFile bed_;
  std::size_t row_bytes_;
};

/// The lines of a .bim and of a .fam, with the errors of Genotypes.
std::vector<Variant> read_variants(const std::string& path);
std::vector<Person> read_people(const std::string& path);

/// The ids of people, in their order.
std::vector<SampleId> ids_of(const std::vector<Person>& people);

/// 0, 1, ..., n - 1: everyone, for Genotypes::read().
std::vector<std::int64_t> all_people(const Genotypes& genotypes);

}  // namespace kinflow
