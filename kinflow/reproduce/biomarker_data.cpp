// From the files of a folder to traits, covariates and relationships of the same rows.
#include "kinflow/reproduce/biomarker_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/hash.h"
#include "kinflow/core/row_sets.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/match_rows.h"
#include "kinflow/data/table.h"
#include "kinflow/genetics/relationship_eigen.h"
#include "kinflow/genetics/relationship_from_snps.h"
#include "kinflow/genetics/variant_filters.h"

namespace kinflow {
namespace {

constexpr double kHeldOutShare = 0.15;  // of validation and of test rows

using Column = std::vector<double>;

std::string genotype_prefix(const std::string& folder) {
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

bool are_numbers(const std::vector<std::string>& cells) {
  double ignored = 0;
  return std::all_of(cells.begin(), cells.end(), [&](const std::string& cell) {
    const auto kind = read_number(cell, ignored);
    return kind == CellKind::number || kind == CellKind::missing;
  });
}

void add_numbers(const std::vector<std::string>& cells, std::vector<Column>& design) {
  Column values(cells.size()), is_missing(cells.size());
  double sum = 0, present = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    is_missing[i] = read_number(cells[i], values[i]) == CellKind::missing;
    if (is_missing[i] != 0) continue;
    sum += values[i];
    present += 1;
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (is_missing[i] != 0) values[i] = present > 0 ? sum / present : 0;
  }
  standardize(values);
  design.push_back(std::move(values));
  if (present < static_cast<double>(cells.size())) {
    design.push_back(std::move(is_missing));
  }
}

void add_categories(const std::vector<std::string>& cells,
                    std::vector<Column>& design) {
  std::map<std::string, Column> columns;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto& category = is_missing_cell(cells[i]) ? std::string() : cells[i];
    auto& column = columns[category];
    column.resize(cells.size());
    column[i] = 1;
  }
  for (auto at = std::next(columns.begin()); at != columns.end(); ++at) {
    design.push_back(std::move(at->second));
  }
}

void read_design(const Table& table, const std::vector<std::string>& covariates,
                 const std::vector<std::int64_t>& kept, BiomarkerData& data) {
  std::vector<Column> columns = {Column(kept.size(), 1.0)};
  for (const auto& name : covariates) {
    const auto all = cell_texts(table, name);
    std::vector<std::string> cells;
    for (const auto row : kept) cells.push_back(all[static_cast<std::size_t>(row)]);
    are_numbers(cells) ? add_numbers(cells, columns) : add_categories(cells, columns);
  }
  data.design_columns = std::ssize(columns);
  for (std::size_t row = 0; row < kept.size(); ++row) {
    for (const auto& column : columns) data.design.push_back(column[row]);
  }
}

void check_traits_vary(const BiomarkerData& data, const std::string& source) {
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

// Reads traits and covariates; gives the ids of the rows.
TableIds read_traits(const BiomarkerSource& source, BiomarkerData& data) {
  const auto path = source.folder + "/pheno.tsv";
  const auto table = read_table(path);
  auto traits =
      numeric_matrix(table, source.traits,
                     {.missing = MissingPolicy::drop, .label_columns = {"FID", "IID"}});
  data.individuals_in_table = table.rows();
  data.rows = traits.rows;
  data.traits = traits.names;
  data.values = std::move(traits.values);
  check_traits_vary(data, path);
  read_design(table, source.covariates, traits.kept_rows, data);
  TableIds ids{.source = path, .ids = {}};
  const auto families = labels(table, "FID", traits.kept_rows);
  const auto individuals = labels(table, "IID", traits.kept_rows);
  for (std::size_t i = 0; i < individuals.size(); ++i) {
    ids.ids.push_back(sample_id(families[i], individuals[i]));
  }
  return ids;
}

RelationshipFile read_snps(const BiomarkerSource& source, const TableIds& table) {
  const Genotypes genotypes(genotype_prefix(source.folder));
  TableIds people{.source = genotypes.prefix() + ".fam", .ids = {}};
  for (const auto& person : genotypes.people()) people.ids.push_back(person.id);
  const auto rows = match_rows(people, table).rows;
  VariantFilters filters;
  filters.without_haploid = true;
  filters.autosomes = source.autosomes;
  SnpRelationshipOptions options;
  options.autosomes = source.autosomes;
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
  BiomarkerData data;
  const auto ids = read_traits(source, data);
  if (data.rows <= kGeneticComponents) {
    throw InputError(
        fmt::format("{}: expected more than {} individuals with all traits, found {}",
                    ids.source, kGeneticComponents, data.rows));
  }
  data.snps = read_snps(source, ids);
  data.components = components_of(data.snps);
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
