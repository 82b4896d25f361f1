// The paper's experiments on simulated data, stock prices, biomarkers and faces, beside
// its own numbers.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/core/log.h"
#include "kinflow/demo/teaser.h"
#include "kinflow/flow/glow/glow_options.h"
#include "studies/biomarker_data.h"
#include "studies/study.h"

namespace kinflow {

struct ExperimentOptions {
  std::string directory;  ///< results; a study that was stopped goes on
  std::int64_t seeds = 10;
  std::uint64_t first_seed = kFirstSeed;
  std::string device = "cpu";
  std::int64_t threads = 1;
  bool quick = false;
  /// Only the methods that have no validation table, where the experiment has some.
  bool one_table = false;
  bool overwrite = false;  ///< in place of results that the folder holds
  const std::atomic<bool>* stop = nullptr;
};

/// What an experiment came to, for a page and for the terminal.
struct ExperimentReport {
  std::string markdown;               ///< shows the pictures by their names
  std::vector<std::string> pictures;  ///< files in the folder
};

enum class Table1Part { blocks, relationship, families, all };

/// Table 1: five shapes, rows in blocks or related by a matrix, and rows of families,
/// which are not in the paper.
ExperimentReport reproduce_table1(const ExperimentOptions& options, Table1Part part,
                                  Logger& logger);
/// Figure 2: Crescent in blocks, by the strength of the dependence.
ExperimentReport reproduce_strength(const ExperimentOptions& options, Logger& logger);
/// Figure 1: Abs in blocks, the density that is learned with and without the
/// dependence, for one seed.
ExperimentReport reproduce_teaser(const ExperimentOptions& options, Logger& logger);
/// How well the correlations of blocks are recovered on Crescent.
ExperimentReport reproduce_recovery(const ExperimentOptions& options, Logger& logger);

/// Where closing prices come from: the files of a folder or one table.
struct PriceSource {
  std::string folder;
  std::string table;
  std::string pairs;  ///< such as "AAPL-MSFT,MA-V"; empty: the paper's
};

/// Stock data pairs: daily log returns, split in time. InputError where not exactly one
/// of folder and table is given.
ExperimentReport reproduce_stocks(const ExperimentOptions& options,
                                  const PriceSource& source, Logger& logger);

/// Biomarkers of related individuals, after the paper's of the UK Biobank: whole
/// families are held out, and relatedness is taken from SNPs, from their principal
/// components, and from the pedigree.
ExperimentReport reproduce_biomarkers(const ExperimentOptions& options,
                                      const BiomarkerSource& source, Logger& logger);

/// Association studies: simulated cohorts with known loci, one for each seed, and where
/// there is a folder of data the mice's blood traits by groups.
ExperimentReport reproduce_gwas(const ExperimentOptions& options,
                                const std::string& data, Logger& logger);

/// Tables of repeat measurements: see repeat_tables().
struct RepeatsSource {
  std::string folder;
  std::vector<std::string> tables = {};  ///< their names; empty: all
};

/// Real tables of repeat measurements, some groups held out: rows, rows of a group
/// together and next rows given earlier ones, by flows with and without the groups and
/// by a multivariate random-intercept normal distribution.
ExperimentReport reproduce_repeats(const ExperimentOptions& options,
                                   const RepeatsSource& source, Logger& logger);

/// Faces, and how they are trained on.
struct FaceSource {
  std::string folder;  ///< as find_faces() takes it; empty: simulated, with `quick`
  double minutes = 0;  ///< of a baseline; `quick` has a few epochs instead
  GlowPreset preset = GlowPreset::light;
  std::vector<std::string> methods = {};  ///< as face_methods() takes them
};

/// Labeled Faces in the Wild, or other faces of people: flows that know nothing of
/// people, that hold one correlation, and that learn one for each person, all with the
/// same number of steps. Reports the methods of the source and those of the study that
/// are finished.
ExperimentReport reproduce_lfw(const ExperimentOptions& options,
                               const FaceSource& source, Logger& logger);

/// Simulated images of people, a few of whom have most of them: flows with and without
/// the knowledge of who is who beside the law of one image of everybody.
ExperimentReport reproduce_unbalanced_images(const ExperimentOptions& options,
                                             Logger& logger);

/// The study of an experiment.
/// @param more  what else decides its results
StudyPlace study_place(const ExperimentOptions& options, const std::string& experiment,
                       const nlohmann::json& more = nlohmann::json::object());

/// The heading of a report; names the seeds where they are not the usual ones.
std::string heading(const std::string& title, const ExperimentOptions& options);

/// What ran where, in one paragraph: the command, the seeds, the machine and the time.
std::string provenance(const ExperimentOptions& options, const std::string& command,
                       double seconds);

/// "8 cores of an AMD EPYC" or "one NVIDIA H200".
std::string machine_name(const std::string& device, std::int64_t threads);

/// Writes NAME.md into the folder, as a section that studies/update_page.py can put
/// into a page. Those of other seeds have names of their own.
void write_report(const ExperimentOptions& options, const std::string& name,
                  const ExperimentReport& report);

std::vector<std::uint64_t> seeds_of(const ExperimentOptions& options);

}  // namespace kinflow
