// Reads the files of a study and settles who and what takes part.
#include "kinflow/gwas/gwas_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/match_rows.h"
#include "kinflow/data/read_relationship.h"
#include "kinflow/data/sample_index.h"
#include "kinflow/genetics/linkage.h"
#include "kinflow/genetics/relationship_eigen.h"
#include "kinflow/genetics/trait_values.h"

namespace kinflow {
namespace {

/// @param what  a prefix stands for, for a message that it is not there; may be empty
RelationshipFile read_symmetric(const std::string& path, const std::string& ids,
                                const std::string& what = "") {
  const auto found = find_relationship(path, {.ids = ids}).matrix;
  if (found == path && !std::filesystem::exists(path)) {
    throw InputError(
        what.empty()
            ? fmt::format("{0}: expected a relationship there or in {0}.grm.bin, found "
                          "no such file",
                          path)
            : fmt::format("{}.grm.bin: expected {}, found no such file", path, what));
  }
  auto file = read_relationship(path, {.ids = ids, .drop_unlisted_parents = true});
  make_symmetric(file);
  return file;
}

/// The row of each person of a .fam in a relationship; -1 where there is none.
std::vector<std::int64_t> rows_of_people(const RelationshipFile& file,
                                         const Genotypes& genotypes, bool by_position) {
  const auto& people = genotypes.people();
  std::vector<std::int64_t> rows(people.size(), -1);
  if (by_position) {
    if (file.rows != static_cast<std::int64_t>(people.size())) {
      throw InputError(fmt::format(
          "{}: expected {} rows in the order of {}.fam, by --relationship-by-position, "
          "found {}",
          file.source, people.size(), genotypes.prefix(), file.rows));
    }
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }
  if (file.ids.empty()) {
    throw InputError(fmt::format(
        "{}: expected ids of its rows, found none; give --relationship-ids FILE, such "
        "as the .fam that it was made of, or --relationship-by-position where its rows "
        "are those of {}.fam in the same order",
        file.source, genotypes.prefix()));
  }
  const auto fam = genotypes.prefix() + ".fam";
  const SampleIndex index(ids_of(people), fam);
  const SampleIndex::Fail fail = [&](const std::string& what) {
    throw InputError(file.source + ": " + what);
  };
  bool is_any = false;
  for (std::size_t i = 0; i < file.ids.size(); ++i) {
    if (const auto row = index.find(file.ids[i], fail)) {
      rows[static_cast<std::size_t>(*row)] = static_cast<std::int64_t>(i);
      is_any = true;
    }
  }
  if (!is_any) {
    const auto reason = why_nobody_matches({.source = fam, .ids = ids_of(people)},
                                           {.source = file.source, .ids = file.ids});
    throw InputError(
        fmt::format("{}: expected ids of {} such as {}, found none of them; the "
                    "first id is {}{}",
                    file.source, fam, in_quotes(people.front().id),
                    in_quotes(file.ids.front()), reason.empty() ? "" : "; " + reason));
  }
  return rows;
}

/// InputError where it is the relationship, and not the table of traits, that leaves
/// too few people.
void check_relatives_with_traits(const RelationshipFile& file, const Chosen& candidates,
                                 const std::vector<std::int64_t>& related,
                                 const PeopleTable& traits,
                                 const Genotypes& genotypes) {
  std::int64_t first = -1;
  const auto count = [&](const std::vector<std::int64_t>& people) {
    std::int64_t found = 0;
    for (const auto person : people) {
      if (!traits.has_row[static_cast<std::size_t>(person)]) continue;
      if (found++ == 0) first = person;
    }
    return found;
  };
  const auto in_both = count(related);
  const auto in_table = count(candidates.rows);
  if (in_both >= kLeastPeople || in_table < kLeastPeople) return;
  throw InputError(fmt::format(
      "{}: expected at least {} of the {} people of {} who may take part, such as {}, "
      "found {}; the first id is {}",
      file.source, kLeastPeople, in_table, traits.source,
      in_quotes(genotypes.people()[static_cast<std::size_t>(first)].id), in_both,
      file.ids.empty() ? "missing" : in_quotes(file.ids.front())));
}

void check(const RelationshipFile& file) {
  require_semidefinite(to_dense(file), file.rows, file.source);
}

void check_roles(const PeopleTable& traits, const PeopleTable& covariates) {
  auto names = covariates.numbers.names;
  for (const auto& category : covariates.categories) names.push_back(category.name);
  for (const auto& name : traits.numbers.names) {
    if (name.find(';') != std::string::npos) {
      throw InputError(fmt::format(
          "{}: expected names of traits without ';', which separates them in results, "
          "found {}",
          traits.source, in_quotes(name)));
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    throw InputError(fmt::format(
        "{}: expected {} to be a trait or a covariate, found both; choose columns with "
        "--pheno-name and --covar-name",
        covariates.source, in_quotes(name)));
  }
}

void add_notes(const PeopleTable& table, std::vector<std::string>& notes) {
  notes.insert(notes.end(), table.notes.begin(), table.notes.end());
  if (table.unknown > 0) {
    notes.push_back(fmt::format("{}: rows of people who are not in the .fam: {} of {}",
                                table.source, table.unknown, table.rows));
  }
}

}  // namespace

GwasInputs::GwasInputs(const GwasData& data)
    : data_(data),
      genotypes_(std::make_unique<Genotypes>(data.bfile)),
      candidates_(choose_people(*genotypes_, data.people)) {
  people_steps_ = candidates_.steps;
  choose_people_with_tables(related_candidates());
  if (count() > kMostDecomposedRows) {
    throw InputError(
        fmt::format("{}.fam: expected at most {} people, whose relationship can be "
                    "decomposed, found "
                    "{} with all values; --keep and --remove choose fewer",
                    data_.bfile, kMostDecomposedRows, count()));
  }
  check_traits_and_covariates(
      people_.traits, with_intercept(people_.covariates, count()), count(),
      {.traits = data_.traits.path, .covariates = data_.covariates.path});
  choose_all_variants();
  if (haploid_calls_.x_variants > 0) find_sex();
  make_groups();
  check_relationships();
}

std::vector<std::int64_t> GwasInputs::related_candidates() {
  auto related = candidates_.rows;
  if (relationship_is_computed() || data_.leave_chromosome_out) return related;
  given_ = read_symmetric(data_.relationship, data_.relationship_ids);
  const auto rows =
      rows_of_people(*given_, *genotypes_, data_.relationship_by_position);
  std::erase_if(related, [&](std::int64_t person) {
    return rows[static_cast<std::size_t>(person)] < 0;
  });
  const auto before = static_cast<std::int64_t>(candidates_.rows.size());
  const auto left = static_cast<std::int64_t>(related.size());
  people_steps_.push_back({"in the relationship", before - left, left});
  return related;
}

void GwasInputs::choose_people_with_tables(
    const std::vector<std::int64_t>& candidates) {
  const auto traits = read_traits(data_.traits, genotypes_->people());
  add_notes(traits, notes_);
  if (given_) {
    check_relatives_with_traits(*given_, candidates_, candidates, traits, *genotypes_);
  }
  std::optional<PeopleTable> covariates;
  if (!data_.covariates.path.empty()) {
    covariates = read_covariates(data_.covariates, genotypes_->people());
    add_notes(*covariates, notes_);
    check_roles(traits, *covariates);
  }
  people_ = complete_people(candidates, traits, covariates ? &*covariates : nullptr);
  people_steps_.insert(people_steps_.end(), people_.steps.begin(), people_.steps.end());
}

void GwasInputs::choose_all_variants() {
  const auto choose = [&](const VariantFilters& filters) {
    auto chosen = choose_variants(*genotypes_, people_.people, filters);
    if (!data_.prune_r2) return chosen;
    const auto before = static_cast<std::int64_t>(chosen.rows.size());
    chosen.rows = prune_by_linkage(*genotypes_, people_.people, chosen.rows,
                                   {.largest_r_squared = *data_.prune_r2,
                                    .window_kb = data_.prune_kb,
                                    .autosomes = filters.autosomes,
                                    .with_nonfounders = filters.with_nonfounders});
    const auto left = static_cast<std::int64_t>(chosen.rows.size());
    chosen.steps.push_back(
        {fmt::format("--prune-r2 {}", *data_.prune_r2), before - left, left});
    return chosen;
  };
  variants_ = choose(data_.variants);
  haploid_calls_ = count_haploid_calls(*genotypes_, people_.people, variants_.rows,
                                       data_.variants.autosomes);
  if (!relationship_is_computed()) return;
  // What is tested says nothing about whom people are related to.
  auto filters = data_.variants;
  filters.chromosomes.clear();
  filters.extract.clear();
  filters.only_autosomes = true;
  const auto behind = choose(filters);
  relationship_variants_ = behind.rows;
  not_in_relationship_ = behind.steps.front();
}

void GwasInputs::make_groups() {
  if (!data_.leave_chromosome_out) {
    groups_.push_back({"", parts_of(variants_.rows)});
    return;
  }
  std::vector<std::int64_t> rest;
  for (auto& one :
       by_chromosome(*genotypes_, variants_.rows, data_.variants.autosomes)) {
    if (is_in_relationships(one.name, data_.variants)) {
      groups_.push_back({one.name, parts_of(one.variants)});
    } else {
      rest.insert(rest.end(), one.variants.begin(), one.variants.end());
    }
  }
  if (!groups_.empty()) {
    check_left_out(*genotypes_, groups_.size(), groups_.back().name);
  }
  if (!rest.empty()) groups_.push_back({"", parts_of(rest)});
}

void GwasInputs::check_relationships() {
  if (!relationship_is_computed()) {
    if (!data_.leave_chromosome_out) relationship();
    for (const auto& group : groups_) {
      if (!data_.leave_chromosome_out) continue;
      check(of_analysed(read_symmetric(
          file_of(group), data_.relationship_ids,
          group.name.empty()
              ? "the relationship of all autosomes, for variants of X, Y, MT and other "
                "names, as kinflow grm makes it without --loco"
              : fmt::format("the relationship without chromosome {}, as kinflow grm "
                            "--loco makes it",
                            group.name))));
    }
    return;
  }
  // Refuses what it cannot be made of; the variants are added when it is asked for.
  sums_.emplace(
      *genotypes_, people_.people,
      SnpRelationshipOptions{.kind = data_.kind,
                             .autosomes = data_.variants.autosomes,
                             .with_nonfounders = data_.variants.with_nonfounders});
  if (!data_.leave_chromosome_out) return;
  const auto behind =
      by_chromosome(*genotypes_, relationship_variants_, data_.variants.autosomes);
  for (const auto& group : groups_) {
    if (behind.size() > 1 || !is_same(behind.front().name, group.name)) continue;
    throw InputError(fmt::format(
        "{}.bim: expected variants of several chromosomes, to leave out one "
        "at a time, found those of {} only",
        genotypes_->prefix(), group.name));
  }
}

bool GwasInputs::is_same(const std::string& left, const std::string& right) const {
  const auto one = chromosome(left, data_.variants.autosomes);
  // All that is not placed has one number.
  return left == right ||
         (one.number > 0 && one == chromosome(right, data_.variants.autosomes));
}

std::string GwasInputs::file_of(const VariantGroup& group) const {
  return group.name.empty()
             ? data_.relationship
             : data_.relationship + ".chr" + short_chromosome_name(group.name);
}

std::vector<std::string> GwasInputs::files() const {
  const auto& prefix = genotypes_->prefix();
  std::vector<std::string> files = {prefix + ".bed", prefix + ".bim", prefix + ".fam"};
  if (relationship_is_computed()) return files;
  for (const auto& group : groups_) {
    const auto found =
        find_relationship(file_of(group), {.ids = data_.relationship_ids});
    files.push_back(found.matrix);
    if (!found.ids.empty()) files.push_back(found.ids);
  }
  return files;
}

void GwasInputs::find_sex() {
  // The share of its variance that covariates which do not determine it must leave.
  constexpr double kLeastLeft = 1e-6;
  std::vector<double> values;
  double sum = 0, known = 0;
  for (const auto person : people_.people) {
    const int sex = genotypes_->people()[static_cast<std::size_t>(person)].sex;
    values.push_back(sex);
    if (sex == kUnknownSex) continue;
    sum += sex;
    ++known;
  }
  // In a study of one sex it explains nothing.
  const bool has_both = std::ranges::count(values, double{kMale}) > 0 &&
                        std::ranges::count(values, double{kFemale}) > 0;
  if (!has_both) return;
  // At X their genotypes are missing.
  std::replace(values.begin(), values.end(), double{kUnknownSex}, sum / known);
  const NamedColumns sex{{"sex"}, std::move(values)};
  const auto square_sum = [](const NamedColumns& columns) {
    return std::inner_product(columns.values.begin(), columns.values.end(),
                              columns.values.begin(), 0.0);
  };
  const auto covariates = standardize(people_.covariates, count()).columns;
  const double all = square_sum(residuals(sex, with_intercept({}, count()), count()));
  const double left =
      square_sum(residuals(sex, with_intercept(covariates, count()), count()));
  if (all > 0 && left > kLeastLeft * all) sex_ = sex;
}

std::vector<TestedPart> GwasInputs::parts_of(
    const std::vector<std::int64_t>& variants) const {
  TestedPart plain, of_x{.adds_sex = true, .variants = {}};
  for (const auto variant : variants) {
    const auto& name =
        genotypes_->variants()[static_cast<std::size_t>(variant)].chromosome;
    const bool is_x =
        chromosome(name, data_.variants.autosomes).kind == ChromosomeKind::x;
    (is_x && !sex_.names.empty() ? of_x : plain).variants.push_back(variant);
  }
  std::vector<TestedPart> parts;
  for (auto* part : {&plain, &of_x}) {
    if (!part->variants.empty()) parts.push_back(std::move(*part));
  }
  return parts;
}

NamedColumns GwasInputs::covariates_of(const TestedPart& part) const {
  return with_intercept(
      part.adds_sex ? side_by_side(people_.covariates, sex_) : people_.covariates,
      count());
}

std::int64_t VariantGroup::tested() const {
  std::int64_t sum = 0;
  for (const auto& part : parts) {
    sum += static_cast<std::int64_t>(part.variants.size());
  }
  return sum;
}

std::int64_t GwasInputs::tested() const {
  return static_cast<std::int64_t>(variants_.rows.size());
}

std::vector<SampleId> GwasInputs::ids() const {
  std::vector<SampleId> ids;
  for (const auto person : people_.people) {
    ids.push_back(genotypes_->people()[static_cast<std::size_t>(person)].id);
  }
  return ids;
}

RelationshipSums& GwasInputs::sums() {
  if (sums_->variants() == 0) sums_->add(relationship_variants_);
  return *sums_;
}

RelationshipFile GwasInputs::of_analysed(const RelationshipFile& file) const {
  const auto rows = rows_of_people(file, *genotypes_, data_.relationship_by_position);
  std::vector<std::int64_t> chosen;
  for (const auto person : people_.people) {
    const auto row = rows[static_cast<std::size_t>(person)];
    if (row < 0) {
      throw InputError(fmt::format(
          "{}: expected everyone who is analysed, found nobody with the id {}",
          file.source,
          in_quotes(genotypes_->people()[static_cast<std::size_t>(person)].id)));
    }
    chosen.push_back(row);
  }
  auto result = select_rows(file, chosen);
  result.ids = ids();
  return result;
}

const RelationshipFile& GwasInputs::relationship() {
  if (relationship_) return *relationship_;
  if (relationship_is_computed() && data_.leave_chromosome_out) {
    relationship_ = RelationshipSums(sums()).finish();
  } else if (relationship_is_computed()) {
    relationship_ = std::move(sums()).finish();
    sums_.reset();
  } else {
    if (!given_) {
      given_ = read_symmetric(data_.relationship, data_.relationship_ids,
                              "the relationship of all chromosomes, which the flow "
                              "needs and kinflow grm makes without --loco");
    }
    relationship_ = of_analysed(*given_);
    given_.reset();
    check(*relationship_);
  }
  return *relationship_;
}

void GwasInputs::visit_groups(
    const std::function<bool(const VariantGroup&)>& is_wanted,
    const std::function<void(const VariantGroup&, std::vector<double>)>& visit) {
  if (!data_.leave_chromosome_out) {
    if (!is_wanted(groups_.front())) return;
    relationship();
    auto all = std::move(*relationship_);
    relationship_.reset();
    visit(groups_.front(), to_dense(std::move(all)));
    return;
  }
  relationship_.reset();
  if (!relationship_is_computed()) {
    for (const auto& group : groups_) {
      if (!is_wanted(group)) continue;
      visit(group, to_dense(of_analysed(
                       read_symmetric(file_of(group), data_.relationship_ids))));
    }
    return;
  }
  const auto of_chromosomes =
      by_chromosome(*genotypes_, relationship_variants_, data_.variants.autosomes);
  for (const auto& group : groups_) {
    if (!is_wanted(group)) continue;
    auto others = sums();
    const auto own = std::find_if(
        of_chromosomes.begin(), of_chromosomes.end(),
        [&](const ChromosomeVariants& one) { return is_same(one.name, group.name); });
    if (own != of_chromosomes.end()) others.subtract(own->variants);
    visit(group, to_dense(std::move(others).finish()));
  }
}

}  // namespace kinflow
