// Lines of traits with ids, and in the order of a .fam.
#include "kinflow/data/write_phenotypes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/data/append_number.h"

namespace kinflow {
namespace {

[[noreturn]] void fail(const PhenotypeRows& rows, std::size_t row,
                       const std::string& what) {
  throw InputError(fmt::format("{}:{}: {}", rows.source, rows.lines[row], what));
}

[[noreturn]] void fail_for_duplicate(const PhenotypeRows& rows, std::size_t row,
                                     std::int64_t line) {
  fail(rows, row,
       fmt::format("expected every person once, found {} also in line {}",
                   in_quotes(rows.ids[row]), line));
}

std::string header(const std::vector<std::string>& names) {
  std::string text = "#FID\tIID";
  for (const auto& name : names) text += fmt::format("\t{}", without_blanks(name));
  text += '\n';
  return text;
}

}  // namespace

std::string without_blanks(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '\t'; }, '_');
  return name;
}

PhenotypeFiles::PhenotypeFiles(PhenotypeFilesRequest request)
    : traits_(request.names.size()), file_(pheno_path(request.prefix)) {
  file_.write(header(request.names));
  if (!request.gemma) return;
  gemma_.emplace(std::move(*request.gemma), traits_, gemma_path(request.prefix));
}

PhenotypeFiles::Gemma::Gemma(GemmaPeople wanted, std::size_t traits,
                             const std::string& path)
    : people(std::move(wanted)),
      index(people.ids, people.source),
      line_of_person(people.ids.size()),
      values(people.ids.size() * traits),
      file(path) {}

std::string PhenotypeFiles::format(const PhenotypeRows& rows) const {
  constexpr std::string_view kBlanks = " \t";
  std::string text;
  for (std::size_t row = 0; row < rows.ids.size(); ++row) {
    const SampleId& id = rows.ids[row];
    if (id.family.find_first_of(kBlanks) != id.family.npos ||
        id.individual.find_first_of(kBlanks) != id.individual.npos) {
      fail(rows, row, "expected an id without blanks, found " + in_quotes(id));
    }
    text += (id.family.empty() ? "0" : id.family) + "\t" + id.individual;
    for (std::size_t trait = 0; trait < traits_; ++trait) {
      text += '\t';
      append_number(text, rows.values[row * traits_ + trait]);
    }
    text += '\n';
  }
  return text;
}

void PhenotypeFiles::append(const PhenotypeRows& rows, std::string_view formatted) {
  for (std::size_t row = 0; row < rows.ids.size(); ++row) {
    const auto [found, is_new] = line_of_id_.emplace(rows.ids[row], rows.lines[row]);
    if (!is_new) fail_for_duplicate(rows, row, found->second);
    if (!first_) first_ = rows.ids[row];
  }
  if (gemma_) append_to_gemma(rows);
  file_.write(formatted);
}

void PhenotypeFiles::append_to_gemma(const PhenotypeRows& rows) {
  std::size_t row = 0;
  const SampleIndex::Fail fail_here = [&](const std::string& what) {
    fail(rows, row, what);
  };
  for (; row < rows.ids.size(); ++row) {
    const auto found = gemma_->index.find(rows.ids[row], fail_here);
    if (!found) continue;
    const auto person = static_cast<std::size_t>(*found);
    if (const auto line = gemma_->line_of_person[person]; line > 0) {
      fail_for_duplicate(rows, row, line);
    }
    gemma_->line_of_person[person] = rows.lines[row];
    std::copy_n(rows.values.begin() + static_cast<std::ptrdiff_t>(row * traits_),
                traits_,
                gemma_->values.begin() + static_cast<std::ptrdiff_t>(person * traits_));
  }
}

void PhenotypeFiles::write_gemma() {
  std::string text;
  std::int64_t known = 0;
  for (std::size_t person = 0; person < gemma_->line_of_person.size(); ++person) {
    const bool is_known = gemma_->line_of_person[person] > 0;
    known += is_known;
    for (std::size_t trait = 0; trait < traits_; ++trait) {
      if (trait > 0) text += '\t';
      if (is_known) {
        append_number(text, gemma_->values[person * traits_ + trait]);
      } else {
        text += "NA";
      }
    }
    text += '\n';
  }
  const auto& people = gemma_->people;
  if (known == 0 && first_) {
    throw InputError(
        fmt::format("{}: expected people of the table, found none: the first id here "
                    "is {}, that of the table {}",
                    people.source, in_quotes(people.ids.front()), in_quotes(*first_)));
  }
  note_ = fmt::format(
      "people of {} with a row in the table: {} of {}; rows of nobody there: {}",
      people.source, known, people.ids.size(),
      static_cast<std::int64_t>(line_of_id_.size()) - known);
  gemma_->file.write(text);
  gemma_->file.sync();
}

void PhenotypeFiles::finish() {
  if (gemma_) write_gemma();
  file_.commit();
  if (gemma_) gemma_->file.commit();
}

}  // namespace kinflow
