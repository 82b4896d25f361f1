// From the files of a folder to traits, covariates and relationships of the same rows.
#include "studies/biomarker_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/hash.h"
#include "kinflow/data/match_rows.h"
#include "kinflow/data/row_sets.h"
#include "kinflow/genetics/people_tables.h"
#include "kinflow/genetics/relationship_eigen.h"
#include "kinflow/genetics/relationship_from_snps.h"
#include "kinflow/genetics/variant_filters.h"

namespace kinflow {
namespace {

constexpr double kHeldOutShare = 0.15;  // of validation and of test rows

using Column = std::vector<double>;

std::string pheno_path(const BiomarkerSource& source) {
  return source.folder + "/pheno.tsv";
}

// To mean 0 and deviation 1; a constant column becomes 0.
void standardize(Column& column) {
  const auto count = static_cast<double>(column.size());
  const double mean = std::accumulate(column.begin(), column.end(), 0.0) / count;
  double squares = 0;
  for (auto& value : column) {
    value -= mean;
    squares += value * value;
  }
  const double deviation = std::sqrt(squares / count);
  for (auto& value : column) value = deviation > 0 ? value / deviation : 0;
}

// NaN is missing: the mean, and a column that marks it.
void add_numbers(Column values, std::vector<Column>& design) {
  Column is_missing(values.size());
  double sum = 0, missing = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    is_missing[i] = std::isnan(values[i]);
    missing += is_missing[i];
    if (is_missing[i] == 0) sum += values[i];
  }
  const auto present = static_cast<double>(values.size()) - missing;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_missing[i] != 0) values[i] = present > 0 ? sum / present : 0;
  }
  standardize(values);
  design.push_back(std::move(values));
  if (missing > 0) design.push_back(std::move(is_missing));
}

void add_categories(const std::vector<std::string>& labels,
                    std::vector<Column>& design) {
  std::map<std::string, Column> columns;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    auto& column = columns[labels[i]];
    column.resize(labels.size());
    column[i] = 1;
  }
  for (auto at = std::next(columns.begin()); at != columns.end(); ++at) {
    design.push_back(std::move(at->second));
  }
}

// Elements of a list over all people.
template <typename Value>
std::vector<Value> of_people(const Value* all, const std::vector<std::int64_t>& rows) {
  std::vector<Value> chosen;
  for (const auto row : rows) chosen.push_back(all[row]);
  return chosen;
}

// Rows of the .fam with all traits.
std::vector<std::int64_t> read_complete(const BiomarkerSource& source,
                                        const std::vector<Person>& people,
                                        BiomarkerData& data) {
  const auto table =
      read_traits({.path = pheno_path(source), .columns = source.traits}, people);
  data.individuals_in_table = table.rows;
  data.traits = table.numbers.names;
  std::vector<std::int64_t> complete;
  for (std::size_t row = 0; row < people.size(); ++row) {
    if (!table.has_row[row]) continue;
    std::vector<double> values;
    for (std::size_t trait = 0; trait < data.traits.size(); ++trait) {
      values.push_back(table.numbers.values[trait * people.size() + row]);
    }
    if (std::any_of(values.begin(), values.end(),
                    [](double value) { return std::isnan(value); })) {
      continue;
    }
    complete.push_back(static_cast<std::int64_t>(row));
    data.values.insert(data.values.end(), values.begin(), values.end());
  }
  data.rows = std::ssize(complete);
  return complete;
}

void read_design(const BiomarkerSource& source, const std::vector<Person>& people,
                 const std::vector<std::int64_t>& rows, BiomarkerData& data) {
  std::vector<Column> columns = {Column(rows.size(), 1.0)};
  if (!source.covariates.empty()) {
    const auto table = read_covariates(
        {.path = pheno_path(source), .columns = source.covariates}, people);
    const double* numbers = table.numbers.values.data();
    for (std::size_t i = 0; i < table.numbers.names.size(); ++i) {
      add_numbers(of_people(numbers + i * people.size(), rows), columns);
    }
    for (const auto& category : table.categories) {
      add_categories(of_people(category.labels.data(), rows), columns);
    }
  }
  data.design_columns = std::ssize(columns);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (const auto& column : columns) data.design.push_back(column[row]);
  }
}

void check_individuals(const BiomarkerData& data, const std::string& source) {
  if (data.rows <= kGeneticComponents) {
    throw InputError(
        fmt::format("{}: expected more than {} individuals with all traits, found {}",
                    source, kGeneticComponents, data.rows));
  }
  const auto width = data.traits.size();
  for (std::size_t trait = 0; trait < width; ++trait) {
    bool varies = false;
    for (std::size_t i = trait; i < data.values.size(); i += width) {
      varies = varies || data.values[i] != data.values[trait];
    }
    if (varies) continue;
    throw InputError(fmt::format("{}: expected traits that vary, found one value of {}",
                                 source, data.traits[trait]));
  }
}

RelationshipFile relationship_of(const Genotypes& genotypes,
                                 const std::vector<std::int64_t>& rows, int autosomes) {
  VariantFilters filters;
  filters.only_autosomes = true;
  filters.autosomes = autosomes;
  SnpRelationshipOptions options;
  options.autosomes = autosomes;
  auto matrix = snp_relationship(
      genotypes, rows, choose_variants(genotypes, rows, filters).rows, options);
  rescale_to_unit_diagonal(matrix);
  matrix.source = "relationship from SNPs";
  return matrix;
}

// The first components, each as long as the root of its eigenvalue.
std::vector<double> components_of(const RelationshipFile& snps) {
  const auto eigen = eigen_of_relationship(snps.dense, snps.rows);
  std::vector<double> components;
  for (std::int64_t row = 0; row < eigen.rows; ++row) {
    for (std::int64_t c = 1; c <= kGeneticComponents; ++c) {
      const auto column = static_cast<std::size_t>(eigen.rows - c);
      components.push_back(eigen.vectors[column * static_cast<std::size_t>(eigen.rows) +
                                         static_cast<std::size_t>(row)] *
                           std::sqrt(eigen.values[column]));
    }
  }
  return components;
}

void find_families(BiomarkerData& data) {
  RowSets families(data.rows);
  for (std::int64_t row = 0; row < data.rows; ++row) {
    visit_row(data.pedigree, row, [&](std::int64_t other, double value) {
      if (value != 0) families.join(row, other);
    });
  }
  data.family_of_row = families.numbers();
  data.families =
      1 + *std::max_element(data.family_of_row.begin(), data.family_of_row.end());
}

std::uint64_t content_hash(const BiomarkerData& data) {
  auto hash = hash_of(data.values);
  hash = hash_of(data.design, hash);
  hash = hash_of(data.snps.dense, hash);
  return hash_of(to_dense(data.pedigree), hash);
}

}  // namespace

std::string genotypes_of_folder(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> found;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    if (file.path().extension() == ".bed") found.push_back(file.path().string());
  }
  if (error) {
    throw InputError(
        fmt::format("{}: cannot read the folder ({})", folder, error.message()));
  }
  if (found.size() != 1) {
    throw InputError(fmt::format("{}: expected one .bed file, found {}", folder,
                                 found.empty() ? "none" : "several"));
  }
  return found.front().substr(0, found.front().size() - 4);
}

std::vector<std::string> BiomarkerSource::mice_traits() {
  return {"Biochem.Albumin",     "Biochem.ALP",           "Biochem.ALT",
          "Biochem.AST",         "Biochem.Calcium",       "Biochem.Chloride",
          "Biochem.Glucose",     "Biochem.HDL",           "Biochem.LDL",
          "Biochem.Phosphorous", "Biochem.Sodium",        "Biochem.Tot.Cholesterol",
          "Biochem.Tot.Protein", "Biochem.Triglycerides", "Biochem.Urea"};
}

std::vector<std::string> BiomarkerSource::mice_covariates() {
  return {"GENDER", "Biochem.Age", "Biochem.Date.Season", "Biochem.Date.Year"};
}

BiomarkerData read_biomarkers(const BiomarkerSource& source) {
  const Genotypes genotypes(genotypes_of_folder(source.folder));
  const auto& people = genotypes.people();
  BiomarkerData data;
  const auto rows = read_complete(source, people, data);
  check_individuals(data, pheno_path(source));
  read_design(source, people, rows, data);
  data.snps = relationship_of(genotypes, rows, source.autosomes);
  data.components = components_of(data.snps);
  TableIds ids{.source = genotypes.prefix() + ".fam", .ids = {}};
  for (const auto row : rows) {
    ids.ids.push_back(people[static_cast<std::size_t>(row)].id);
  }
  data.pedigree =
      relationship_for_table({.path = source.folder + "/pedigree.tsv"}, ids).matrix;
  find_families(data);
  data.hash = content_hash(data);
  return data;
}

Split split_families(const BiomarkerData& data, std::uint64_t seed) {
  return split(data.rows, {.by = SplitBy::group,
                           .valid_fraction = kHeldOutShare,
                           .test_fraction = kHeldOutShare,
                           .seed = seed,
                           .block_of_row = data.family_of_row});
}

}  // namespace kinflow
