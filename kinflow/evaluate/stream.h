// Transforms, scores and draws over tables of any length: rows are read, computed and
// written piece by piece, on all threads, in memory that does not grow with the table.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/data/write_phenotypes.h"
#include "kinflow/data/write_table.h"
#include "kinflow/evaluate/likelihood.h"
#include "kinflow/fit/table_rows.h"
#include "kinflow/model/model.h"

namespace kinflow {

class Logger;

/// How the pieces are worked on. Results do not depend on it.
struct StreamOptions {
  std::int64_t threads = 1;  ///< each works on a piece of its own
  /// Interrupted is thrown, and nothing is written, once this is true; may be null.
  const std::atomic<bool>* stop = nullptr;
  std::int64_t rows_at_once = 0;  ///< of a piece; 0: by the number of columns
};

struct TransformRequest {
  std::string table, out;
  bool inverse = false;           ///< from latents u1, u2, ... to data
  std::vector<std::string> keep;  ///< columns to copy, beside those of context
  bool drop_missing = false;
  /// Prefix of files of the latents z1, z2, ... as phenotypes; empty: none.
  std::string pheno_out = {};
  std::optional<GemmaPeople> gemma = {};  ///< for whom such a file is for GEMMA too
  /// Columns of ids for them, individual or family and individual; empty: FID and IID,
  /// or IID alone, in any case and with or without a # before.
  std::vector<std::string> id = {};
  std::optional<MinusNine> minus_nine = {};  ///< not given: as the model has it
};

/// Maps the rows of a table to latents, or back, into another table (unless `out` is
/// empty) and files of phenotypes, by the first member of a mixture. The logger hears
/// of that, of progress and of rows that were left out. The ids of all rows are held
/// for phenotypes, because nobody may have two. A row that is dropped for a missing
/// value stays in the table, with empty cells (NaN in an array) and what is to be kept
/// as it is; it has no phenotypes. InputError for phenotypes of an inverse.
void transform_table(const Model& mixture, const TransformRequest& request,
                     const StreamOptions& options, Logger& logger);

struct ScoreRequest {
  std::string table;
  std::string out;                ///< table of the rows' log-densities; empty: none
  std::vector<std::string> keep;  ///< columns to copy to it
  ColumnChoice columns;           ///< as columns_for() gives it
};

/// Scores the rows of a table one by one, under the mixture of the model's members. The
/// densities of rows are not kept. The output has all rows of the table, those that are
/// dropped for a missing value with an empty score.
Likelihood score_table(const Model& model, const ScoreRequest& request,
                       const StreamOptions& options, Logger& logger);

struct DrawRequest {
  std::int64_t rows = 0;        ///< how many to draw, without a table
  std::string table;            ///< one row is drawn for each of its rows
  std::vector<std::string> id;  ///< its columns of ids, copied like those of context
  std::string out;
  std::uint64_t seed = 0;
  std::optional<MinusNine> minus_nine = {};  ///< not given: as the model has it
};

/// Draws independent rows into a table; each comes from a member picked at random.
void draw_table(const Model& model, const DrawRequest& request,
                const StreamOptions& options, Logger& logger);

}  // namespace kinflow
