// Formats phenotypes with all digits.
#include "kinflow/genetics/write_phenotypes.h"

#include <fmt/format.h>

#include <iterator>

#include "kinflow/core/atomic_file.h"

namespace kinflow {

void write_phenotypes(const std::string& path, const std::vector<SampleId>& ids,
                      const NamedColumns& columns) {
  std::string text = "#FID\tIID";
  for (const auto& name : columns.names) text += "\t" + name;
  text += '\n';
  for (std::size_t i = 0; i < ids.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}\t{}",
                   ids[i].family.empty() ? "0" : ids[i].family, ids[i].individual);
    for (std::size_t j = 0; j < columns.names.size(); ++j) {
      fmt::format_to(std::back_inserter(text), "\t{}",
                     columns.values[j * ids.size() + i]);
    }
    text += '\n';
  }
  write_file_atomically(path, text);
}

}  // namespace kinflow
