// Reading pedigrees, ordering them, and the tabular recursion on sparse rows.
#include "kinflow/data/pedigree.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "kinflow/core/error.h"
#include "kinflow/core/size.h"
#include "kinflow/data/cells.h"
#include "kinflow/data/label_key.h"
#include "kinflow/data/relationship_readers.h"
#include "kinflow/data/text_lines.h"

namespace kinflow {
namespace {

constexpr std::size_t kNamedPeople = 6;

bool is_unknown(std::string_view parent) {
  return label_key(parent) == "0" || is_missing_cell(parent);
}

/// Cells of a line. Between commas or tabs a cell may be empty.
std::vector<std::string> cells_of(std::string_view line) {
  const char delimiter = line.find(',') != std::string_view::npos    ? ','
                         : line.find('\t') != std::string_view::npos ? '\t'
                                                                     : ' ';
  if (delimiter == ' ') return split_cells(line);
  std::vector<std::string> cells;
  CellReader reader(line, 0, delimiter);
  do {
    cells.emplace_back(reader.next());
  } while (!reader.at_end_of_row());
  return cells;
}

struct Columns {
  std::optional<std::size_t> family;
  std::size_t individual = 0, father = 1, mother = 2;
};

/// The columns by the words of a header, or nothing where it is none.
std::optional<Columns> named_columns(std::string_view line) {
  std::vector<std::string> words;
  try {
    words = cells_of(lower_case(line));
  } catch (const QuoteError&) {
    return std::nullopt;
  }
  const auto find = [&](std::initializer_list<const char*> names) {
    std::optional<std::size_t> place;
    for (const char* name : names) {
      const auto found = std::find(words.begin(), words.end(), name);
      if (!place && found != words.end()) {
        place = static_cast<std::size_t>(found - words.begin());
      }
    }
    return place;
  };
  const auto individual =
      find({"iid", "#iid", "id", "#id", "individual", "animal", "person"});
  const auto father = find({"pat", "father", "sire", "father_id", "fatherid"});
  const auto mother = find({"mat", "mother", "dam", "mother_id", "motherid"});
  if (!individual || !father || !mother) return std::nullopt;
  return Columns{.family = find({"fid", "#fid", "family", "famid", "family_id"}),
                 .individual = *individual,
                 .father = *father,
                 .mother = *mother};
}

/// People by their ids while a file is read.
class PedigreeReader {
 public:
  explicit PedigreeReader(TextLines& lines) : lines_(lines) {}

  Pedigree read() {
    pedigree_.source = lines_.source();
    struct Parents {
      SampleId father, mother;
    };
    std::vector<Parents> parents;
    for (bool is_first = true; lines_.next_filled(); is_first = false) {
      if (is_first) {
        if (const auto named = named_columns(lines_.line())) {
          columns_ = *named;
          needed_ = 1 + std::max({columns_.family.value_or(0), columns_.individual,
                                  columns_.father, columns_.mother});
          continue;
        }
      }
      const auto cells = cells_of_line();
      if (needed_ == 0) {
        needed_ = cells.size() < 4 ? 3 : 4;
        if (needed_ == 4) columns_ = {0, 1, 2, 3};
      }
      if (cells.size() < needed_) {
        lines_.fail(
            fmt::format("expected at least {} cells, found {}", needed_, cells.size()));
      }
      const std::string family = columns_.family ? cells[*columns_.family] : "";
      const auto parent = [&](std::size_t column) {
        return is_unknown(cells[column]) ? SampleId{}
                                         : sample_id(family, cells[column]);
      };
      const SampleId id = sample_id(family, cells[columns_.individual]);
      add_person(id);
      parents.push_back({parent(columns_.father), parent(columns_.mother)});
      for (const SampleId& of : {parents.back().father, parents.back().mother}) {
        if (of == id) {
          lines_.fail("expected parents older than their child, found " +
                      in_quotes(id) + " as its own parent");
        }
      }
    }
    if (parents.empty()) {
      throw InputError(pedigree_.source + ": expected people, found none");
    }
    pedigree_.listed = static_cast<std::int64_t>(parents.size());
    for (const auto& [father, mother] : parents) {
      pedigree_.father.push_back(row_of_parent(father));
      pedigree_.mother.push_back(row_of_parent(mother));
    }
    pedigree_.father.resize(pedigree_.ids.size(), -1);
    pedigree_.mother.resize(pedigree_.ids.size(), -1);
    check_sample_ids(pedigree_.ids, pedigree_.source);
    return std::move(pedigree_);
  }

 private:
  std::vector<std::string> cells_of_line() const {
    try {
      return cells_of(lines_.line());
    } catch (const QuoteError& error) {
      lines_.fail("found " + error.message);
    }
  }

  void add_person(const SampleId& id) {
    if (is_unknown(id.individual)) lines_.fail("expected an id, found none");
    const auto next = static_cast<std::int64_t>(pedigree_.ids.size());
    if (!row_of_.emplace(id, next).second) {
      lines_.fail("expected one line for each person, found " + in_quotes(id) +
                  " again");
    }
    pedigree_.ids.push_back(id);
  }

  std::int64_t row_of_parent(const SampleId& id) {
    if (id.individual.empty()) return -1;
    const auto next = static_cast<std::int64_t>(pedigree_.ids.size());
    const auto [found, is_new] = row_of_.emplace(id, next);
    if (is_new) pedigree_.ids.push_back(id);
    return found->second;
  }

  TextLines& lines_;
  Pedigree pedigree_;
  Columns columns_;
  std::size_t needed_ = 0;  // cells of a line; 0: not known yet
  std::unordered_map<SampleId, std::int64_t> row_of_;
};

/// Throws with the people of one circle among those that could not be ordered.
[[noreturn]] void fail_for_circle(const Pedigree& pedigree,
                                  const std::vector<bool>& is_ordered) {
  // From anyone left, parents that are left lead into a circle.
  const auto next = [&](std::int64_t person) {
    const auto father = pedigree.father[to_size(person)];
    return father >= 0 && !is_ordered[to_size(father)]
               ? father
               : pedigree.mother[to_size(person)];
  };
  const auto first = std::find(is_ordered.begin(), is_ordered.end(), false);
  std::int64_t person = first - is_ordered.begin();
  for (std::size_t i = 0; i < is_ordered.size(); ++i) person = next(person);
  // The one with the first line begins.
  auto first_of_circle = person;
  for (auto other = next(person); other != person; other = next(other)) {
    first_of_circle = std::min(first_of_circle, other);
  }
  person = first_of_circle;
  std::string people = in_quotes(pedigree.ids[to_size(person)]);
  std::size_t count = 1;
  for (auto other = next(person); other != person; other = next(other), ++count) {
    if (count < kNamedPeople) {
      people += ", child of " + in_quotes(pedigree.ids[to_size(other)]);
    }
  }
  throw InputError(fmt::format(
      "{}: expected nobody to be an ancestor of itself, found a circle of {} people: "
      "{}{}",
      pedigree.source, count, people, count > kNamedPeople ? ", ..." : ""));
}

/// All people, parents before their children.
std::vector<std::int64_t> order_by_descent(const Pedigree& pedigree) {
  const std::size_t n = pedigree.ids.size();
  std::vector<std::vector<std::int64_t>> children(n);
  std::vector<int> missing(n, 0);  // parents that are not ordered yet
  for (std::size_t i = 0; i < n; ++i) {
    for (const auto parent : {pedigree.father[i], pedigree.mother[i]}) {
      if (parent < 0) continue;
      children[to_size(parent)].push_back(static_cast<std::int64_t>(i));
      ++missing[i];
    }
  }
  std::vector<std::int64_t> order;
  std::vector<bool> is_ordered(n);
  order.reserve(n);
  const auto add = [&](std::size_t person) {
    order.push_back(static_cast<std::int64_t>(person));
    is_ordered[person] = true;
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (missing[i] == 0) add(i);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const auto child : children[to_size(order[i])]) {
      if (--missing[to_size(child)] == 0) add(to_size(child));
    }
  }
  if (order.size() < n) fail_for_circle(pedigree, is_ordered);
  return order;
}

/// Entries of one row, by increasing place in the order of descent.
struct Row {
  std::vector<std::int32_t> places;
  std::vector<double> values;

  void add(std::int32_t place, double value) {
    places.push_back(place);
    values.push_back(value);
  }
};

/// Half the sum of two sorted rows.
Row half_sum(const Row& a, const Row& b) {
  Row sum;
  sum.places.reserve(a.places.size() + b.places.size() + 1);
  sum.values.reserve(a.places.size() + b.places.size() + 1);
  std::size_t i = 0, j = 0;
  while (i < a.places.size() || j < b.places.size()) {
    const bool from_a =
        j == b.places.size() || (i < a.places.size() && a.places[i] <= b.places[j]);
    const bool from_b =
        i == a.places.size() || (j < b.places.size() && b.places[j] <= a.places[i]);
    const auto place = from_a ? a.places[i] : b.places[j];
    double value = 0;
    if (from_a) value += a.values[i++];
    if (from_b) value += b.values[j++];
    sum.add(place, value / 2);
  }
  return sum;
}

double value_in(const Row& row, std::int32_t place) {
  const auto found = std::lower_bound(row.places.begin(), row.places.end(), place);
  if (found == row.places.end() || *found != place) return 0;
  return row.values[to_size(found - row.places.begin())];
}

/// Throws where that many entries and their compressed copy exceed the machine.
void check_memory(const Pedigree& pedigree, std::uint64_t entries) {
  constexpr double kBytesOfEntry = 32;
  const double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (kBytesOfEntry * static_cast<double>(entries) < memory) return;
  throw InputError(fmt::format(
      "{}: expected relationships that fit into {:.1f} GB of memory, found more than "
      "{} related pairs among {} people",
      pedigree.source, memory * 1e-9, entries / 2, pedigree.ids.size()));
}

}  // namespace

Pedigree read_pedigree(const std::string& path) {
  TextLines lines(path);
  return read_pedigree(lines);
}

Pedigree read_pedigree(TextLines& lines) { return PedigreeReader(lines).read(); }

RelationshipFile pedigree_relationship(const Pedigree& pedigree,
                                       bool drop_unlisted_parents) {
  const std::size_t n = pedigree.ids.size();
  const auto order = order_by_descent(pedigree);
  std::vector<std::int32_t> place_of(n);
  for (std::size_t k = 0; k < n; ++k) {
    place_of[to_size(order[k])] = static_cast<std::int32_t>(k);
  }
  // Row k is complete for the first k people when it is made; each later relative adds
  // itself at the end, so that rows stay sorted.
  std::vector<Row> rows(n);
  const Row nobody;
  std::uint64_t entries = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const auto father = pedigree.father[to_size(order[k])];
    const auto mother = pedigree.mother[to_size(order[k])];
    const auto row_of = [&](std::int64_t parent) -> const Row& {
      return parent < 0 ? nobody : rows[to_size(place_of[to_size(parent)])];
    };
    Row row = half_sum(row_of(father), row_of(mother));
    const double inbreeding =
        father < 0 || mother < 0
            ? 0
            : value_in(row_of(father), place_of[to_size(mother)]) / 2;
    const auto place = static_cast<std::int32_t>(k);
    for (std::size_t at = 0; at < row.places.size(); ++at) {
      rows[to_size(row.places[at])].add(place, row.values[at]);
    }
    row.add(place, 1 + inbreeding);
    entries += 2 * row.places.size() - 1;
    if (k % 64 == 0) check_memory(pedigree, entries);
    rows[k] = std::move(row);
  }

  // Rows in the order of the file; walking over them by increasing row leaves every
  // column list sorted.
  const std::size_t kept = drop_unlisted_parents ? to_size(pedigree.listed) : n;
  const auto is_kept = [&](std::int64_t person) { return to_size(person) < kept; };
  RelationshipFile file{
      .source = pedigree.source,
      .ids = {pedigree.ids.begin(),
              pedigree.ids.begin() + static_cast<std::ptrdiff_t>(kept)},
      .rows = static_cast<std::int64_t>(kept),
      .dense = {},
      .sparse = {}};
  auto& sparse = file.sparse;
  sparse.row_starts.assign(kept + 1, 0);
  for (std::size_t i = 0; i < kept; ++i) {
    for (const auto place : rows[to_size(place_of[i])].places) {
      if (is_kept(order[to_size(place)])) ++sparse.row_starts[i + 1];
    }
  }
  for (std::size_t i = 0; i < kept; ++i)
    sparse.row_starts[i + 1] += sparse.row_starts[i];
  sparse.columns.resize(to_size(sparse.row_starts[kept]));
  sparse.values.resize(sparse.columns.size());
  std::vector<std::int64_t> end(sparse.row_starts.begin(), sparse.row_starts.end() - 1);
  for (std::size_t i = 0; i < kept; ++i) {
    Row row = std::exchange(rows[to_size(place_of[i])], {});
    for (std::size_t at = 0; at < row.places.size(); ++at) {
      const auto other = order[to_size(row.places[at])];
      if (!is_kept(other)) continue;
      const auto to = to_size(end[to_size(other)]++);
      sparse.columns[to] = static_cast<std::int64_t>(i);
      sparse.values[to] = row.values[at];
    }
  }
  return file;
}

bool starts_like_pedigree(TextLines& lines) {
  if (!lines.next_filled()) return false;
  lines.put_back();
  return named_columns(lines.line()).has_value();
}

}  // namespace kinflow
