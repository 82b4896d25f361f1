// Traits of people in the files that association tools read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kinflow/core/atomic_file.h"
#include "kinflow/data/sample_ids.h"
#include "kinflow/data/sample_index.h"

namespace kinflow {

/// The people of a .fam, for GEMMA, which knows them by their order alone.
struct GemmaPeople {
  std::string source;
  std::vector<SampleId> ids;
};

/// A name of a column with '_' for blanks, because most tools split there.
std::string without_blanks(std::string name);

struct PhenotypeFilesRequest {
  std::string prefix;
  std::vector<std::string> names;         ///< of the traits
  std::optional<GemmaPeople> gemma = {};  ///< ask for the second file
};

/// Rows of a table with traits.
struct PhenotypeRows {
  std::string source;               ///< of the table, for messages
  std::vector<SampleId> ids;        ///< [rows]
  std::vector<std::int64_t> lines;  ///< [rows] of the table, for messages
  std::vector<double> values;       ///< [rows x traits], row-major
};

/// Writes PREFIX.pheno, with tabs: #FID, IID and the traits, whose names have '_' for
/// blanks, for plink2, GCTA and regenie; a family of 0 stands for none. For GEMMA also
/// PREFIX.gemma.txt, without a header: a line for each person of the .fam, NA for one
/// without traits. Numbers have the fewest digits that read back to the same float64.
/// The files appear whole when they are finished, or not at all.
class PhenotypeFiles {
 public:
  explicit PhenotypeFiles(PhenotypeFilesRequest request);

  /// Rows as they stand in PREFIX.pheno. Several threads may do so at a time.
  /// InputError, with the line, for an id with blanks.
  std::string format(const PhenotypeRows& rows) const;
  /// Adds rows that format() gave. InputError, with the line, for a person who has been
  /// added before, or whose id stands for several people of the .fam.
  void append(const PhenotypeRows& rows, std::string_view formatted);
  /// Gives the files their names. Call once, last. InputError where nobody of the .fam
  /// has traits.
  void finish();

  /// For the user: how many people of the .fam have traits. After finish().
  const std::string& note() const { return note_; }

  static std::string pheno_path(const std::string& prefix) { return prefix + ".pheno"; }
  static std::string gemma_path(const std::string& prefix) {
    return prefix + ".gemma.txt";
  }

 private:
  /// What GEMMA's file will hold.
  struct Gemma {
    Gemma(GemmaPeople wanted, std::size_t traits, const std::string& path);

    GemmaPeople people;
    SampleIndex index;
    std::vector<std::int64_t> line_of_person;  ///< of the table; 0: not there
    std::vector<double> values;                ///< [people x traits]
    AtomicFile file;
  };

  void append_to_gemma(const PhenotypeRows& rows);
  void write_gemma();

  std::size_t traits_;
  AtomicFile file_;
  std::optional<SampleId> first_;  ///< id of the first row
  std::unordered_map<SampleId, std::int64_t> line_of_id_;
  std::optional<Gemma> gemma_;
  std::string note_;
};

}  // namespace kinflow
