// Text of .bim and .fam, bits of .bed.
#include "kinflow/genetics/genotypes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/text_lines.h"

namespace kinflow {
namespace {

constexpr std::size_t kPeoplePerByte = 4;
constexpr std::size_t kColumns = 6;
using Cells = std::array<std::string_view, kColumns>;

/// The counts of the four people of every byte.
using FourCounts = std::array<std::int8_t, kPeoplePerByte>;
constexpr auto kCountsOfByte = [] {
  std::array<FourCounts, 256> table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) {
    for (std::size_t i = 0; i < kPeoplePerByte; ++i) {
      table[byte][i] = kCountOfBits[(byte >> (2 * i)) & 3];
    }
  }
  return table;
}();

/// The first cells of a line, and how many there are.
struct LineCells {
  Cells cells;
  std::size_t count = 0;
};

/// The cells of the current line, which blanks or tabs separate; commas and quotes may
/// be part of an allele.
LineCells cells_of(const TextLines& lines) {
  constexpr std::string_view kBlanks = " \t";
  LineCells found;
  auto& [cells, count] = found;
  std::string_view rest = lines.line();
  for (;;) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
    if (rest.empty()) break;
    const auto cell = rest.substr(0, rest.find_first_of(kBlanks));
    if (count < kColumns) cells[count] = cell;
    ++count;
    rest.remove_prefix(cell.size());
  }
  return found;
}

template <typename Number>
Number number_in(const TextLines& lines, std::string_view cell, std::string_view what) {
  Number number{};
  const auto [end, error] =
      std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc() || end != cell.data() + cell.size()) {
    lines.fail(fmt::format("expected {}, found {}", what, in_quotes(cell)));
  }
  return number;
}

void check_name(const TextLines& lines, std::string_view cell, std::string_view what) {
  if (is_printable_utf8(cell)) return;
  lines.fail(fmt::format("expected {} of UTF-8 text, found {}", what, in_quotes(cell)));
}

Variant variant_in(const TextLines& lines) {
  const auto [cells, count] = cells_of(lines);
  if (count != kColumns) {
    lines.fail(
        fmt::format("expected {} columns (chromosome, id, centimorgans, position, "
                    "allele 1, allele 2), found {}",
                    kColumns, count));
  }
  const auto [chromosome, id, centimorgans, position, a1, a2] = cells;
  check_name(lines, chromosome, "a chromosome");
  check_name(lines, id, "an id");
  check_name(lines, a1, "an allele");
  check_name(lines, a2, "an allele");
  constexpr std::string_view kPosition = "a position that is an integer from 0";
  Variant variant{
      .chromosome = std::string(chromosome),
      .id = std::string(id),
      .centimorgans = number_in<double>(lines, centimorgans, "centimorgans"),
      .position = number_in<std::int64_t>(lines, position, kPosition),
      .a1 = std::string(a1),
      .a2 = std::string(a2)};
  if (variant.position < 0) {
    lines.fail(fmt::format("expected {}, found {}", kPosition, variant.position));
  }
  if (!std::isfinite(variant.centimorgans)) {
    lines.fail(fmt::format("expected centimorgans, found {}", in_quotes(centimorgans)));
  }
  return variant;
}

std::string parent(std::string_view cell) {
  return std::string(cell == "0" ? "" : cell);
}

/// 1 and 2 as plink writes them, or a letter or a word; all else is unknown.
int sex_of(std::string_view cell) {
  const auto name = lower_case(cell);
  if (name == "1" || name == "m" || name == "male") return kMale;
  if (name == "2" || name == "f" || name == "female") return kFemale;
  return kUnknownSex;
}

/// @param columns  of the line before; 0: this is the first
Person person_in(const TextLines& lines, std::size_t& columns) {
  const auto [cells, count] = cells_of(lines);
  // GEMMA's files have more phenotypes behind.
  if (count < kColumns) {
    lines.fail(
        fmt::format("expected {} columns (family, individual, father, mother, sex, "
                    "phenotype) or more, found {}",
                    kColumns, count));
  }
  if (columns != 0 && count != columns) {
    lines.fail(fmt::format("expected {} columns as in the first line, found {}",
                           columns, count));
  }
  const bool is_first = columns == 0;
  columns = count;
  const auto [family, individual, father, mother, sex, phenotype] = cells;
  const auto name = lower_case(family);
  if (is_first && (name == "fid" || name == "#fid" || name == "#iid")) {
    lines.fail(fmt::format(
        "expected a person, found a header ({} {}), which a .fam does not have: "
        "everyone would have the genotypes of the next person",
        in_quotes(family), in_quotes(individual)));
  }
  check_name(lines, father, "a father");
  check_name(lines, mother, "a mother");
  return {.id = sample_id(family, individual),
          .father = parent(father),
          .mother = parent(mother),
          .sex = sex_of(sex)};
}

bool is_everyone_in_order(std::span<const std::int64_t> people, std::size_t count) {
  if (people.size() != count) return false;
  std::int64_t differences = 0;
  for (std::size_t i = 0; i < count; ++i) {
    differences |= people[i] ^ static_cast<std::int64_t>(i);
  }
  return differences == 0;
}

}  // namespace

std::string genotype_prefix(const std::string& given) {
  const auto exists = [](const std::string& path) {
    return std::filesystem::exists(path);
  };
  if (exists(given + ".bed")) return given;
  for (const std::string_view ending : {".bed", ".bim", ".fam"}) {
    if (given.ends_with(ending)) return given.substr(0, given.size() - ending.size());
  }
  struct Other {
    std::string_view ending, input;
    bool is_prefix = false;
  };
  for (const auto& [ending, input, is_prefix] :
       {Other{".pgen", "--pfile", true}, Other{".bgen", "--bgen"},
        Other{".vcf.gz", "--vcf"}, Other{".vcf", "--vcf"}, Other{".bcf", "--bcf"},
        Other{".ped", "--pedmap", true}}) {
    const bool is_named = given.ends_with(ending);
    const auto prefix =
        is_named ? given.substr(0, given.size() - ending.size()) : given;
    const auto file = prefix + std::string(ending);
    if (!is_named && !exists(file)) continue;
    throw InputError(fmt::format(
        "{}: expected the prefix of .bed, .bim and .fam files, found a {} file; plink2 "
        "{} {}{} --make-bed --out {} converts it",
        given, ending, input, is_prefix ? prefix : file,
        ending == ".bgen" ? fmt::format(" ref-first --sample {}.sample", prefix) : "",
        prefix));
  }
  return given;
}

std::vector<Variant> read_variants(const std::string& path) {
  TextLines lines(path);
  std::vector<Variant> variants;
  while (lines.next_filled()) variants.push_back(variant_in(lines));
  if (variants.empty()) throw InputError(path + ": expected variants, found none");
  return variants;
}

std::vector<Person> read_people(const std::string& path) {
  TextLines lines(path);
  std::vector<Person> people;
  std::size_t columns = 0;
  while (lines.next_filled()) people.push_back(person_in(lines, columns));
  if (people.empty()) throw InputError(path + ": expected people, found none");
  check_sample_ids(ids_of(people), path);
  return people;
}

Genotypes::Genotypes(const std::string& prefix)
    : prefix_(prefix),
      variants_(read_variants(prefix + ".bim")),
      people_(read_people(prefix + ".fam")),
      bed_(prefix + ".bed"),
      row_bytes_((people_.size() + kPeoplePerByte - 1) / kPeoplePerByte) {
  check_bed();
}

void Genotypes::check_bed() const {
  const auto bytes = bed_.bytes();
  const auto fail = [&](const std::string& what) {
    throw InputError(bed_.path() + ": " + what);
  };
  if (bytes.empty()) fail("expected genotypes, found an empty file");
  if (bytes.size() < kHeaderBytes || bytes[0] != 0x6c || bytes[1] != 0x1b) {
    const std::size_t shown = std::min(bytes.size(), kHeaderBytes);
    fail(
        fmt::format("expected a .bed that starts with the bytes 6c 1b 01, found {:02x}",
                    fmt::join(bytes.first(shown), " ")));
  }
  if (bytes[2] == 0) {
    fail(
        "expected one row for each variant (third byte 01), found one for each person "
        "(00); plink1.9 --make-bed turns the file");
  }
  if (bytes[2] != 1) {
    fail(fmt::format("expected 01 as the third byte, found {:02x}", bytes[2]));
  }
  const std::size_t expected = kHeaderBytes + variants_.size() * row_bytes_;
  if (bytes.size() != expected) {
    fail(fmt::format(
        "expected {} bytes, for the {} variants of the .bim and the {} people of the "
        ".fam, found {}",
        expected, variants_.size(), people_.size(), bytes.size()));
  }
  check_last_bytes();
}

void Genotypes::check_last_bytes() const {
  const std::size_t people_of_last_byte = people_.size() % kPeoplePerByte;
  if (people_of_last_byte == 0) return;
  // A person of whom all these are 0, two copies of the first allele, is none.
  constexpr std::int64_t kEnough = 1000;
  const auto looked_at = std::min(kEnough, std::ssize(variants_));
  for (std::int64_t variant = 0; variant < looked_at; ++variant) {
    if (packed(variant).back() >> (2 * people_of_last_byte) == 0) continue;
    throw InputError(fmt::format(
        "{}: expected no genotypes after those of the {} people of the .fam, found "
        "some of variant {}: is a line of the .fam missing? If not, plink1.9 "
        "--make-bed clears them",
        bed_.path(), people_.size(),
        in_quotes(variants_[static_cast<std::size_t>(variant)].id)));
  }
}

void Genotypes::read(std::int64_t variant, std::span<const std::int64_t> people,
                     std::int8_t* counts) const {
  if (is_everyone_in_order(people, people_.size())) return read_all(variant, counts);
  const std::uint8_t* row = packed(variant).data();
  for (std::size_t i = 0; i < people.size(); ++i) {
    const auto person = static_cast<std::size_t>(people[i]);
    counts[i] = kCountsOfByte[row[person / kPeoplePerByte]][person % kPeoplePerByte];
  }
}

void Genotypes::read_all(std::int64_t variant, std::int8_t* counts) const {
  const auto row = packed(variant);
  const std::size_t whole = people_.size() / kPeoplePerByte;
  for (std::size_t i = 0; i < whole; ++i) {
    std::memcpy(counts + i * kPeoplePerByte, kCountsOfByte[row[i]].data(),
                kPeoplePerByte);
  }
  const std::size_t done = whole * kPeoplePerByte;
  if (done < people_.size()) {
    std::memcpy(counts + done, kCountsOfByte[row[whole]].data(), people_.size() - done);
  }
}

std::vector<SampleId> ids_of(const std::vector<Person>& people) {
  std::vector<SampleId> ids;
  ids.reserve(people.size());
  for (const Person& person : people) ids.push_back(person.id);
  return ids;
}

std::vector<std::int64_t> all_people(const Genotypes& genotypes) {
  std::vector<std::int64_t> people(genotypes.people().size());
  std::iota(people.begin(), people.end(), 0);
  return people;
}

}  // namespace kinflow
