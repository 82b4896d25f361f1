// Two bits a genotype, low bits first: 0 two a1 alleles, 1 missing, 2 one, 3 none.
#include "kinflow/genetics/write_genotypes.h"

#include <fmt/format.h>

#include <stdexcept>
#include <unordered_set>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"

namespace kinflow {
namespace {

/// The magic number, and 1 for variants one after the other.
constexpr std::string_view kBedHeader("\x6c\x1b\x01", 3);
/// Codes of counts -1, 0, 1 and 2.
constexpr std::uint8_t kCodes[] = {1, 3, 2, 0};

void check_name(const std::string& file, std::int64_t line, const char* what,
                const std::string& name) {
  const bool is_bare = name.find_first_of(" \t\r\n\v\f") == std::string::npos &&
                       name.find('\0') == std::string::npos;
  if (!name.empty() && is_bare) return;
  throw InputError(fmt::format("{}:{}: expected {} without blanks, found {}", file,
                               line, what, name.empty() ? "none" : in_quotes(name)));
}

/// The cell of a name that may be unknown.
std::string or_zero(const std::string& name) { return name.empty() ? "0" : name; }

std::string fam_lines(const std::string& file, std::span<const Person> people) {
  if (people.empty()) {
    throw InputError(file + ": expected at least 1 person, found none");
  }
  std::string lines;
  std::unordered_set<SampleId> known;
  std::int64_t line = 0;
  for (const auto& person : people) {
    ++line;
    const auto& id = person.id;
    check_name(file, line, "a family", or_zero(id.family));
    check_name(file, line, "a person", id.individual);
    check_name(file, line, "a father", or_zero(person.father));
    check_name(file, line, "a mother", or_zero(person.mother));
    if (!known.insert(id).second) {
      throw InputError(fmt::format("{}:{}: expected people that differ, found {} twice",
                                   file, line, in_quotes(id)));
    }
    if (person.sex < 0 || person.sex > 2) {
      throw InputError(fmt::format("{}:{}: expected a sex of 0, 1 or 2, found {}", file,
                                   line, person.sex));
    }
    lines += fmt::format("{}\t{}\t{}\t{}\t{}\t-9\n", or_zero(id.family), id.individual,
                         or_zero(person.father), or_zero(person.mother), person.sex);
  }
  return lines;
}

std::string bim_line(const std::string& file, std::int64_t line,
                     const Variant& variant) {
  check_name(file, line, "a chromosome", variant.chromosome);
  check_name(file, line, "a variant's id", variant.id);
  check_name(file, line, "a first allele", variant.a1);
  check_name(file, line, "a second allele", variant.a2);
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", variant.chromosome, variant.id,
                     variant.centimorgans, variant.position, variant.a1, variant.a2);
}

}  // namespace

GenotypeWriter::GenotypeWriter(const std::string& prefix,
                               std::span<const Person> people)
    : people_(std::ssize(people)),
      prefix_(prefix),
      bed_(prefix + ".bed"),
      bim_(prefix + ".bim"),
      fam_(prefix + ".fam"),
      packed_(static_cast<std::size_t>(bed_row_bytes(people_)), '\0') {
  fam_.write(fam_lines(prefix + ".fam", people));
  bed_.write(kBedHeader);
}

void GenotypeWriter::add(const Variant& variant, std::span<const std::int8_t> counts) {
  if (std::ssize(counts) != people_) {
    throw std::logic_error("[GenotypeWriter] counts of another number of people");
  }
  packed_.assign(packed_.size(), '\0');
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < kMissingGenotype || counts[i] > 2) {
      throw std::logic_error("[GenotypeWriter] a count that is not -1, 0, 1 or 2");
    }
    const int code = kCodes[counts[i] + 1] << (2 * (i % 4));
    packed_[i / 4] = static_cast<char>(packed_[i / 4] | code);
  }
  add_packed(variant, packed_);
}

void GenotypeWriter::add_packed(const Variant& variant, std::string_view bytes) {
  if (std::ssize(bytes) != bed_row_bytes(people_)) {
    throw std::logic_error("[GenotypeWriter] a row of another number of people");
  }
  bim_.write(bim_line(prefix_ + ".bim", ++variants_, variant));
  bed_.write(bytes);
}

void GenotypeWriter::finish() {
  for (auto* file : {&fam_, &bim_, &bed_}) file->sync();
  for (auto* file : {&fam_, &bim_, &bed_}) file->commit();
}

void write_genotypes(
    const std::string& prefix, std::span<const Variant> variants,
    std::span<const Person> people,
    const std::function<void(std::int64_t variant, std::int8_t* counts)>& fill) {
  GenotypeWriter writer(prefix, people);
  std::vector<std::int8_t> counts(people.size());
  for (std::int64_t j = 0; j < std::ssize(variants); ++j) {
    fill(j, counts.data());
    writer.add(variants[static_cast<std::size_t>(j)], counts);
  }
  writer.finish();
}

}  // namespace kinflow
