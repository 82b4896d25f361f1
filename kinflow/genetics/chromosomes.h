// What the name of a chromosome stands for.
#pragma once

#include <string>
#include <string_view>

namespace kinflow {

/// Autosomes of people; mice have 19.
inline constexpr int kHumanAutosomes = 22;

enum class ChromosomeKind { autosome, x, y, pseudoautosomal, mitochondrial, unplaced };

struct Chromosome {
  ChromosomeKind kind = ChromosomeKind::unplaced;
  /// plink's number: 1 to `autosomes`, then X, Y, XY and MT; 0 for what is not placed.
  int number = 0;

  bool operator==(const Chromosome&) const = default;
};

/// The chromosome of a name: a number, X, Y, XY (PAR1, PAR2), MT (M), in any case, with
/// or without "chr". Every other name is unplaced.
Chromosome chromosome(std::string_view name, int autosomes = kHumanAutosomes);

/// "7" of "chr7", for the names of files.
std::string short_chromosome_name(const std::string& name);

inline bool is_autosomal(std::string_view name, int autosomes = kHumanAutosomes) {
  return chromosome(name, autosomes).kind == ChromosomeKind::autosome;
}

}  // namespace kinflow
