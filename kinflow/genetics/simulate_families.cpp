// Shapes of families, ids, ancestry and ages.
#include "kinflow/genetics/simulate_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kinflow {
namespace {

constexpr double kYoungest = 20, kOldest = 80, kGeneration = 25, kAgeSpread = 3;

int random_sex(Random& random) { return random.below(2) == 0 ? kMale : kFemale; }

/// Puts a family together; `age` of members is their generation until it is finished.
class FamilyMaker {
 public:
  explicit FamilyMaker(Random& random) : random_(random) {}

  std::int64_t founder(int sex, int generation, bool in_cohort) {
    return add(sex, generation, in_cohort);
  }
  /// A child of a couple, whoever of them is the father.
  std::int64_t child(std::int64_t one, std::int64_t other, bool in_cohort) {
    const auto number = add(random_sex(random_), generation(one) - 1, in_cohort);
    const bool one_is_father = member(one).person.sex == kMale;
    member(number).father = one_is_father ? one : other;
    member(number).mother = one_is_father ? other : one;
    return number;
  }
  std::int64_t partner(std::int64_t of, bool in_cohort) {
    return founder(kMale + kFemale - member(of).person.sex, generation(of), in_cohort);
  }
  SimulatedFamily finish() { return std::move(family_); }

 private:
  SimulatedMember& member(std::int64_t number) {
    return family_.members[static_cast<std::size_t>(number)];
  }
  int generation(std::int64_t number) { return static_cast<int>(member(number).age); }
  std::int64_t add(int sex, int generation, bool in_cohort) {
    SimulatedMember added;
    added.person.sex = sex;
    added.row = in_cohort ? 0 : -1;
    added.age = generation;
    family_.members.push_back(added);
    return std::ssize(family_.members) - 1;
  }

  Random& random_;
  SimulatedFamily family_;
};

std::int64_t smallest_size(FamilyShape shape) {
  switch (shape) {
    case FamilyShape::trio:
      return 3;
    case FamilyShape::sibship:
      return 2;
    case FamilyShape::three_generations:
      return 6;
    case FamilyShape::cousins:
      break;
  }
  return 4;
}

SimulatedFamily make_family(FamilyShape shape, std::int64_t places, Random& random) {
  FamilyMaker maker(random);
  const bool are_seen =
      shape == FamilyShape::trio || shape == FamilyShape::three_generations;
  const bool has_grandparents =
      shape == FamilyShape::three_generations || shape == FamilyShape::cousins;
  const auto father = maker.founder(kMale, has_grandparents ? 2 : 1, are_seen);
  const auto mother = maker.partner(father, are_seen);
  if (shape == FamilyShape::trio) maker.child(father, mother, true);
  if (shape == FamilyShape::sibship) {
    const auto siblings = std::min(places, 2 + random.below(3));
    for (std::int64_t i = 0; i < siblings; ++i) maker.child(father, mother, true);
  }
  if (has_grandparents) {
    const int couples = shape == FamilyShape::cousins ? 2 : 1;
    for (int i = 0; i < couples; ++i) {
      const auto one = maker.child(father, mother, are_seen);
      const auto other = maker.partner(one, are_seen);
      maker.child(one, other, true);
      maker.child(one, other, true);
    }
  }
  return maker.finish();
}

SimulatedFamily single_person(Random& random) {
  FamilyMaker maker(random);
  maker.founder(random_sex(random), 0, true);
  return maker.finish();
}

std::vector<double> random_ancestry(const SimulateCohortOptions& options,
                                    Random& random) {
  const auto populations = static_cast<std::size_t>(options.populations);
  std::vector<double> shares(populations, 0.0);
  if (populations == 1 || random.uniform() >= options.admixed) {
    shares[static_cast<std::size_t>(random.below(options.populations))] = 1;
    return shares;
  }
  double sum = 0;
  for (double& share : shares) sum += share = -std::log(1 - random.uniform());
  for (double& share : shares) share /= sum;
  return shares;
}

/// Turns generations into ages.
void give_ages(SimulatedFamily& family, Random& random) {
  double oldest = 0;
  for (const auto& member : family.members) {
    if (member.row >= 0) oldest = std::max(oldest, member.age);
  }
  const double youngest_age = random.uniform(kYoungest, kOldest - kGeneration * oldest);
  for (auto& member : family.members) {
    const double age = youngest_age + kGeneration * member.age +
                       random.uniform(-kAgeSpread, kAgeSpread);
    member.age = std::round(10 * age) / 10;
  }
}

}  // namespace

std::vector<SimulatedFamily> simulate_families(const SimulateCohortOptions& options) {
  Random random = cohort_random(options.seed, CohortPart::families);
  std::vector<SimulatedFamily> families;
  std::int64_t rows = 0, people = 0;
  const auto take = [&](SimulatedFamily family) {
    const auto label = fmt::format("F{}", families.size() + 1);
    for (auto& member : family.members) {
      member.person.id = {label, fmt::format("P{}", ++people)};
      if (member.row >= 0) member.row = rows++;
      if (member.father < 0) continue;
      const auto id_of = [&](std::int64_t number) {
        return family.members[static_cast<std::size_t>(number)].person.id.individual;
      };
      member.person.father = id_of(member.father);
      member.person.mother = id_of(member.mother);
    }
    family.ancestry = random_ancestry(options, random);
    give_ages(family, random);
    families.push_back(std::move(family));
  };

  const auto in_families = static_cast<std::int64_t>(
      std::llround(options.relatives * static_cast<double>(options.people)));
  while (true) {
    const auto places = in_families - rows;
    std::vector<FamilyShape> fitting;
    for (const auto shape : options.families) {
      if (smallest_size(shape) <= places) fitting.push_back(shape);
    }
    if (fitting.empty()) break;
    const auto pick = static_cast<std::size_t>(random.below(std::ssize(fitting)));
    take(make_family(fitting[pick], places, random));
  }
  while (rows < options.people) take(single_person(random));
  return families;
}

}  // namespace kinflow
