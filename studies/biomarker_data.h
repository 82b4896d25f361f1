// Biomarkers of related individuals, with what is known of how they are related.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/data/relationship_file.h"
#include "kinflow/data/split.h"

namespace kinflow {

/// Principal components of the genotypes, as many as in the paper.
inline constexpr std::int64_t kGeneticComponents = 40;

/// A folder with PREFIX.bed, .bim and .fam, pheno.tsv (FID, IID, covariates and traits)
/// and pedigree.tsv (a list of related pairs or a pedigree).
struct BiomarkerSource {
  std::string folder;
  std::vector<std::string> traits = mice_traits();
  std::vector<std::string> covariates = mice_covariates();
  int autosomes = 19;

  /// Blood biochemistry of the heterogeneous stock mice, without potassium and
  /// creatinine, which most mice lack.
  static std::vector<std::string> mice_traits();
  /// Sex, age, and season and year of the measurement.
  static std::vector<std::string> mice_covariates();
};

/// The individuals with all traits, in the order of the .fam.
struct BiomarkerData {
  std::int64_t individuals_in_table = 0;
  std::int64_t rows = 0;
  std::vector<std::string> traits;
  std::vector<double> values;  ///< [rows x traits], row-major
  /// An intercept and the covariates, [rows x columns], row-major. Numbers have mean 0
  /// and deviation 1; text is a column of 0 and 1 for each category but the first.
  /// Missing cells are a category, or the mean with a column that marks them. Columns
  /// may be collinear.
  std::vector<double> design;
  std::int64_t design_columns = 0;
  /// Whom the pedigree connects, in however many steps; numbered from 0.
  std::vector<std::int64_t> family_of_row;
  std::int64_t families = 0;
  RelationshipFile snps;           ///< from the autosomes, mean diagonal 1
  std::vector<double> components;  ///< of `snps`, [rows x kGeneticComponents]
  RelationshipFile pedigree;       ///< mean diagonal 1
  /// Of everything above.
  std::uint64_t hash = 0;
};

/// The prefix of the one .bed file of a folder; InputError where there is none or more.
std::string genotypes_of_folder(const std::string& folder);

/// InputError, with the file, where something is missing, damaged or does not match;
/// where a trait is constant; and where there are no more individuals than components.
BiomarkerData read_biomarkers(const BiomarkerSource& source);

/// Whole families at random: 70% of the rows to train, 15% to validate, 15% to test.
Split split_families(const BiomarkerData& data, std::uint64_t seed);

}  // namespace kinflow
