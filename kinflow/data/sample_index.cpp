// Two maps: ids as they are, and individuals alone.
#include "kinflow/data/sample_index.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "kinflow/core/in_quotes.h"
#include "kinflow/data/label_key.h"

namespace kinflow {

SampleIndex::SampleIndex(const std::vector<SampleId>& ids, std::string source)
    : source_(std::move(source)) {
  by_id_.reserve(ids.size());
  by_individual_.reserve(ids.size());
  std::int64_t row = 0;
  for (const SampleId& id : ids) {
    by_id_.emplace(id, row);
    by_individual_.emplace(label_key(id.individual), row++);
  }
}

std::optional<std::int64_t> SampleIndex::find(const SampleId& id,
                                              const Fail& fail) const {
  if (const auto found = by_id_.find(id); found != by_id_.end()) return found->second;
  if (!id.family.empty()) return std::nullopt;
  const auto [begin, end] = by_individual_.equal_range(label_key(id.individual));
  const auto count = std::distance(begin, end);
  if (count > 1) {
    fail(
        fmt::format("expected a family id with {}, which {} people of {} have, found "
                    "none",
                    in_quotes(id.individual), count, source_));
  }
  if (count == 0) return std::nullopt;
  return begin->second;
}

}  // namespace kinflow
