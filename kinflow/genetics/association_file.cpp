// Formats rows of association tests, and finds their columns again by name.
#include "kinflow/genetics/association_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <unordered_set>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/suggest.h"
#include "kinflow/data/write_phenotypes.h"
#include "kinflow/statistics/p_value.h"

namespace kinflow {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kEffectPrefix = "BETA_", kErrorPrefix = "SE_";

constexpr std::array kIdNames{"id"sv, "snp"sv, "rs"sv};
constexpr std::array kChromosomeNames{"#chrom"sv, "chrom"sv, "chr"sv};
constexpr std::array kPositionNames{"pos"sv, "bp"sv, "ps"sv};
constexpr std::array kPNames{"p"sv, "p_score"sv, "p_wald"sv, "p_lrt"sv, "pval"sv};
constexpr std::array kLog10PNames{"log10p"sv, "log10_p"sv, "neg_log10_p"sv};
constexpr std::array kA1Names{"a1"sv, "allele1"sv};
constexpr std::array kA2Names{"a2"sv, "allele0"sv};
constexpr std::array kFrequencyNames{"a1_freq"sv, "af"sv};
constexpr std::array kPeopleNames{"n"sv, "obs_ct"sv, "nmiss"sv};
constexpr std::array kChiSquaredNames{"chisq"sv};

std::string header_of(const std::vector<std::string>& traits) {
  std::string header = "CHROM\tPOS\tID\tA1\tA2\tA1_FREQ\tN";
  std::unordered_set<std::string> known;
  for (const auto& trait : traits) {
    const std::string name = without_blanks(trait);
    if (!known.insert(name).second) {
      throw InputError(
          "[AssociationWriter] expected traits of different names, found " +
          in_quotes(name) + " twice");
    }
    header += fmt::format("\t{}{}\t{}{}", kEffectPrefix, name, kErrorPrefix, name);
  }
  return header + "\tCHISQ\tP\tLOG10P\n";
}

void append_number(std::string& line, double value) {
  line += '\t';
  if (std::isnan(value)) {
    line += "NA";
  } else {
    fmt::format_to(std::back_inserter(line), "{:.8g}", value);
  }
}

// "a, b or c", in upper case.
std::string in_words(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 < names.size() ? ", " : " or ";
    for (const char c : names[i]) {
      text += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
  }
  return text;
}

}  // namespace

AssociationWriter::AssociationWriter(const std::string& path,
                                     const std::vector<std::string>& traits)
    : file_(path) {
  file_.write(header_of(traits));
}

std::string format_associations(std::span<const Association> rows, std::size_t traits) {
  std::string text;
  for (const auto& row : rows) {
    if (row.effects.size() != traits || row.standard_errors.size() != traits) {
      throw std::invalid_argument(
          "[format_associations] expected an effect and a "
          "standard error of each trait");
    }
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}", row.chromosome,
                   row.position, row.id, row.a1, row.a2);
    append_number(text, row.a1_frequency);
    fmt::format_to(std::back_inserter(text), "\t{}", row.people);
    for (std::size_t i = 0; i < traits; ++i) {
      append_number(text, row.effects[i]);
      append_number(text, row.standard_errors[i]);
    }
    append_number(text, row.chi_squared);
    append_number(text, row.p);
    append_number(text, row.log10_p);
    text += '\n';
  }
  return text;
}

AssociationReader::AssociationReader(const std::string& path,
                                     const AssociationFields& fields)
    : lines_(path) {
  id_ = require(fields.id, kIdNames, "variant ids");
  find_p(fields.p);
  chromosome_ = find(kChromosomeNames);
  position_ = find(kPositionNames);
  a1_ = find(kA1Names);
  a2_ = find(kA2Names);
  a1_frequency_ = find(kFrequencyNames);
  people_ = find(kPeopleNames);
  chi_squared_ = find(kChiSquaredNames);
  find_traits();
}

void AssociationReader::find_p(const std::string& wanted) {
  if (wanted.empty()) {
    p_ = find(kPNames);
    log10_p_ = find(kLog10PNames);
    if (p_ || log10_p_) return;
    fail(
        fmt::format("expected a column of p-values ({}) or of -log10 of p-values ({}), "
                    "found none",
                    in_words(kPNames), in_words(kLog10PNames)));
  }
  const Column column = require(wanted, {}, "p-values");
  const bool is_logarithm = std::find(kLog10PNames.begin(), kLog10PNames.end(),
                                      lower_case(wanted)) != kLog10PNames.end();
  (is_logarithm ? log10_p_ : p_) = column;
}

bool AssociationReader::next(Association& row) {
  if (!lines_.next()) return false;
  row.chromosome = text(chromosome_);
  row.position = whole_number(position_);
  row.id = text(id_);
  row.a1 = text(a1_);
  row.a2 = text(a2_);
  row.a1_frequency = number(a1_frequency_);
  row.people = whole_number(people_);
  row.effects.resize(traits_.size());
  row.standard_errors.resize(traits_.size());
  for (std::size_t i = 0; i < traits_.size(); ++i) {
    row.effects[i] = number(effects_[i]);
    row.standard_errors[i] = number(standard_errors_[i]);
  }
  row.chi_squared = number(chi_squared_);
  read_p(row);
  return true;
}

AssociationReader::Column AssociationReader::find(
    std::span<const std::string_view> names) const {
  const auto& header = lines_.header();
  for (const auto name : names) {
    Column found;
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (lower_case(header[i]) != name) continue;
      if (found) fail("expected one column " + in_quotes(header[i]) + ", found two");
      found = i;
    }
    if (found) return found;
  }
  return std::nullopt;
}

AssociationReader::Column AssociationReader::require(
    const std::string& wanted, std::span<const std::string_view> names,
    const std::string& what) const {
  const auto& header = lines_.header();
  if (wanted.empty()) {
    if (const Column found = find(names)) return found;
    fail(
        fmt::format("expected a column of {} ({}), found none", what, in_words(names)));
  }
  const auto found = std::find(header.begin(), header.end(), wanted);
  if (found == header.end()) {
    fail(fmt::format("expected a column {} of {}, found none{}", in_quotes(wanted),
                     what, did_you_mean(wanted, header)));
  }
  if (std::find(found + 1, header.end(), wanted) != header.end()) {
    fail(fmt::format("expected one column {}, found two", in_quotes(wanted)));
  }
  return static_cast<std::size_t>(found - header.begin());
}

void AssociationReader::find_traits() {
  const auto& header = lines_.header();
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (!header[i].starts_with(kEffectPrefix)) continue;
    const std::string trait = header[i].substr(kEffectPrefix.size());
    if (std::find(traits_.begin(), traits_.end(), trait) != traits_.end()) {
      fail("expected one column " + in_quotes(header[i]) + ", found two");
    }
    traits_.push_back(trait);
    effects_.push_back(i);
    const auto error =
        std::find(header.begin(), header.end(), std::string(kErrorPrefix) + trait);
    standard_errors_.push_back(error == header.end() ? Column{}
                                                     : Column{static_cast<std::size_t>(
                                                           error - header.begin())});
  }
}

double AssociationReader::number(Column column) const {
  if (!column) return Association::kUnknown;
  double value = 0;
  switch (read_number(lines_.cells()[*column], value)) {
    case CellKind::number:
      return value;
    case CellKind::missing:
      return Association::kUnknown;
    default:
      refuse("a number or NA", column);
  }
}

std::int64_t AssociationReader::whole_number(Column column) const {
  if (!column || is_missing_cell(lines_.cells()[*column])) return 0;
  const std::string_view cell = lines_.cells()[*column];
  std::int64_t value = 0;
  const auto [stop, error] =
      std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || stop != cell.data() + cell.size() || value < 0) {
    fail(fmt::format("expected a whole number from 0 in column {}, found {}",
                     in_quotes(lines_.header()[*column]), in_quotes(cell)));
  }
  return value;
}

void AssociationReader::refuse(const std::string& expected, Column column) const {
  fail(fmt::format("expected {} in column {}, found {}", expected,
                   in_quotes(lines_.header()[*column]),
                   in_quotes(lines_.cells()[*column])));
}

void AssociationReader::read_p(Association& row) const {
  constexpr double kSmallestP = 1e-300;
  row.p = number(p_);
  row.log10_p = number(log10_p_);
  if (row.p < 0 || row.p > 1) refuse("a p-value from 0 to 1", p_);
  if (row.log10_p < 0) {
    refuse("-log10 of a p-value, which is not negative,", log10_p_);
  }
  if (std::isnan(row.log10_p)) {
    row.log10_p =
        row.p < kSmallestP ? log10_p_of_text(lines_.cells()[*p_]) : log10_p_of(row.p);
    return;
  }
  if (std::isnan(row.p)) {
    row.p = p_of_log10(row.log10_p);
    return;
  }
  // Tables have three digits or more, and P stays at the smallest number.
  constexpr double kRoundingOfTables = 0.01;
  if (row.p > kSmallestP && std::abs(log10_p_of(row.p) - row.log10_p) >
                                kRoundingOfTables * (1 + row.log10_p)) {
    refuse(fmt::format("-log10 of the p-value {:g} beside it", row.p), log10_p_);
  }
}

std::string AssociationReader::text(Column column) const {
  return column ? std::string(lines_.cells()[*column]) : std::string();
}

}  // namespace kinflow
