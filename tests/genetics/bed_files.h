// Small bed, bim and fam files, and the tools that they are shown to.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "kinflow/core/random.h"
#include "kinflow/genetics/genotypes.h"
#include "tests/data/helpers.h"

namespace kinflow {

/// What stands in a set of files: counts[variant][person].
struct BedContent {
  std::vector<Variant> variants;
  std::vector<Person> people;
  std::vector<std::vector<std::int8_t>> counts;
};

/// The bytes of a .bed.
inline std::string bed_bytes(const BedContent& content) {
  std::string bytes = {'\x6c', '\x1b', '\x01'};
  for (const auto& row : content.counts) {
    std::string packed((row.size() + 3) / 4, '\0');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const int bits = row[i] == 2 ? 0 : row[i] == 1 ? 2 : row[i] == 0 ? 3 : 1;
      packed[i / 4] = static_cast<char>(packed[i / 4] | (bits << (2 * (i % 4))));
    }
    bytes += packed;
  }
  return bytes;
}

inline std::string bim_lines(const std::vector<Variant>& variants) {
  std::string lines;
  for (const auto& v : variants) {
    lines += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", v.chromosome, v.id, v.centimorgans,
                         v.position, v.a1, v.a2);
  }
  return lines;
}

inline std::string fam_lines(const std::vector<Person>& people) {
  const auto or_zero = [](const std::string& text) {
    return text.empty() ? "0" : text;
  };
  std::string lines;
  for (const auto& p : people) {
    lines += fmt::format("{} {} {} {} {} -9\n", or_zero(p.id.family), p.id.individual,
                         or_zero(p.father), or_zero(p.mother), p.sex);
  }
  return lines;
}

/// Writes NAME.bed, NAME.bim and NAME.fam and gives their prefix.
inline std::string write_bed(const TemporaryFolder& folder, const std::string& name,
                             const BedContent& content) {
  folder.write(name + ".bed", bed_bytes(content));
  folder.write(name + ".bim", bim_lines(content.variants));
  folder.write(name + ".fam", fam_lines(content.people));
  return folder.path(name);
}

/// People, every fifth the child of the two before, and variants of all kinds: common
/// and rare, some far from Hardy-Weinberg, with up to a fifth of the genotypes missing;
/// neighbours are correlated.
/// @param chromosomes  names, each of as many variants
inline BedContent random_content(int people, int variants, std::uint64_t seed,
                                 const std::vector<std::string>& chromosomes = {"1",
                                                                                "2"}) {
  Random random(seed);
  BedContent content;
  for (int i = 0; i < people; ++i) {
    Person person{.id = {fmt::format("F{}", i / 5), fmt::format("I{}", i)},
                  .father = {},
                  .mother = {},
                  .sex = 1 + i % 2};
    if (i % 5 == 4) {
      person.father = fmt::format("I{}", i - 2);
      person.mother = fmt::format("I{}", i - 1);
    }
    content.people.push_back(person);
  }
  std::vector<std::int8_t> before(static_cast<std::size_t>(people));
  for (int v = 0; v < variants; ++v) {
    const auto place = static_cast<std::size_t>(v) * chromosomes.size() /
                       static_cast<std::size_t>(variants);
    content.variants.push_back({.chromosome = chromosomes[place],
                                .id = fmt::format("rs{}", v),
                                .centimorgans = 0,
                                .position = 1000 + 20000 * std::int64_t{v},
                                .a1 = "A",
                                .a2 = "G"});
    const double frequency = random.uniform(0.005, 0.6);
    const double inbreeding = v % 3 == 0 ? random.uniform(0, 0.5) : 0;
    const double missing = v % 4 == 0 ? random.uniform(0, 0.2) : 0;
    const double copied = v % 5 == 0 ? 0 : random.uniform();
    std::vector<std::int8_t> row;
    for (int i = 0; i < people; ++i) {
      const bool first = random.uniform() < frequency;
      const bool second =
          random.uniform() < inbreeding ? first : random.uniform() < frequency;
      int count = first + second;
      if (random.uniform() < copied) count = before[static_cast<std::size_t>(i)];
      before[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(count);
      row.push_back(random.uniform() < missing ? kMissingGenotype
                                               : static_cast<std::int8_t>(count));
    }
    content.counts.push_back(row);
  }
  return content;
}

inline bool has_tool(const std::string& tool) {
  return std::system(("command -v " + tool + " > /dev/null").c_str()) == 0;
}

/// Runs a command in a folder without its output; true where it succeeded.
inline bool run_in(const TemporaryFolder& folder, const std::string& command) {
  return std::system(
             ("cd " + folder.path() + " && " + command + " > /dev/null 2> /dev/null")
                 .c_str()) == 0;
}

}  // namespace kinflow
