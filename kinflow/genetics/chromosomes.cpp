// Names and numbers as plink pairs them.
#include "kinflow/genetics/chromosomes.h"

#include <charconv>
#include <string>

#include "kinflow/data/text_lines.h"

namespace kinflow {
namespace {

constexpr ChromosomeKind kAfterAutosomes[] = {ChromosomeKind::x, ChromosomeKind::y,
                                              ChromosomeKind::pseudoautosomal,
                                              ChromosomeKind::mitochondrial};

int place_after_autosomes(std::string_view lower) {
  if (lower == "x") return 1;
  if (lower == "y") return 2;
  if (lower == "xy" || lower == "par1" || lower == "par2") return 3;
  if (lower == "mt" || lower == "m") return 4;
  return 0;
}

}  // namespace

Chromosome chromosome(std::string_view name, int autosomes) {
  const std::string lower = lower_case(name);
  std::string_view text = lower;
  if (text.starts_with("chr")) text.remove_prefix(3);
  int number = 0;
  if (const int place = place_after_autosomes(text); place > 0) {
    number = autosomes + place;
  } else {
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end) return {};
  }
  if (number < 1 || number > autosomes + 4) return {};
  return {.kind = number <= autosomes ? ChromosomeKind::autosome
                                      : kAfterAutosomes[number - autosomes - 1],
          .number = number};
}

std::string short_chromosome_name(const std::string& name) {
  return name.starts_with("chr") ? name.substr(3) : name;
}

}  // namespace kinflow
