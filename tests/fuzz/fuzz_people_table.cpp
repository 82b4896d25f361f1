// Fuzzes the readers of phenotypes and covariates: any bytes give a table whose parts
// agree or an InputError of one line.
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "fuzzed.h"
#include "kinflow/genetics/people_tables.h"

namespace {

using namespace kinflow;
using fuzzed::require;

/// A1, ..., A9 and Aa, Ab in family F; A1 once more, and A2 without a family.
std::vector<Person> people_of_fam() {
  std::vector<Person> people;
  for (const char c : std::string("123456789ab")) {
    people.push_back({.id = {"F", std::string("A") + c}, .father = {}, .mother = {}});
  }
  people.push_back({.id = {"G", "A1"}, .father = {}, .mother = {}});
  people.push_back({.id = {"", "A2"}, .father = {}, .mother = {}});
  return people;
}

void check_table(const PeopleTable& table, std::size_t people) {
  require(table.has_row.size() == people);
  const auto known = std::accumulate(table.has_row.begin(), table.has_row.end(), 0);
  require(known > 0 && table.rows == table.unknown + known);
  require(table.numbers.values.size() == people * table.numbers.names.size());
  require(table.numbers.names.size() + table.categories.size() > 0);
  for (std::size_t i = 0; i < table.numbers.values.size(); ++i) {
    const double value = table.numbers.values[i];
    require(!std::isinf(value) && (std::isnan(value) || table.has_row[i % people]));
  }
  for (const auto& category : table.categories) {
    require(category.labels.size() == people);
    for (const auto& label : category.labels) require(is_printable_utf8(label));
  }
  for (const auto& note : table.notes) require(is_printable_utf8(note));
}

void check_analysed(const AnalysedPeople& analysed) {
  const std::size_t n = analysed.people.size();
  require(static_cast<std::int64_t>(n) >= kLeastPeople);
  for (const auto* columns : {&analysed.traits, &analysed.covariates}) {
    require(columns->values.size() == n * columns->names.size());
    for (const double value : columns->values) require(std::isfinite(value));
  }
}

void check(std::uint8_t choice, std::string_view bytes) {
  const auto people = people_of_fam();
  PeopleTableRequest request{.path = "",
                             .minus_nine = static_cast<MinusNine>(choice / 4 % 3)};
  if (choice & 1) request.columns = {"y{1:2}"};
  if (choice & 2) request.categories = {"y1"};
  DelimitedLines as_covariates(bytes, "f");
  const auto covariates = read_covariates(as_covariates, request, people);
  check_table(covariates, people.size());
  DelimitedLines as_traits(bytes, "f");
  const auto traits = read_traits(as_traits, request, people);
  check_table(traits, people.size());
  std::vector<std::int64_t> candidates(people.size());
  std::iota(candidates.begin(), candidates.end(), 0);
  check_analysed(complete_people(candidates, traits, &covariates));
}

}  // namespace

/// The first byte chooses columns and what -9 is; the rest is the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kinflow::fuzzed::Input input(data, size);
  const auto choice = input.choice();
  return kinflow::fuzzed::answer_or_input_error([&] { check(choice, input.rest()); });
}
