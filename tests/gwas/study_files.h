// The files of a small study, for tests of its parts.
#pragma once

#include <fmt/format.h>

#include <string>

#include "kinflow/core/random.h"
#include "kinflow/gwas/gwas_request.h"
#include "tests/genetics/bed_files.h"

namespace kinflow {

/// Sixty people with 300 variants of chromosomes 1, 2 and X and two traits, the first
/// of which nobody has in the first three people.
class StudyFiles {
 public:
  StudyFiles() : content_(random_content(60, 300, 40, {"1", "chr2", "X"})) {
    write_bed(folder_, "t", content_);
    Random random(2);
    std::string table = "FID\tIID\ty1\ty2\n";
    for (std::size_t i = 0; i < content_.people.size(); ++i) {
      const auto& id = content_.people[i].id;
      table +=
          fmt::format("{}\t{}\t{}\t{}\n", id.family, id.individual,
                      i < 3 ? "NA" : std::to_string(random.normal()), random.normal());
    }
    folder_.write("p.tsv", table);
  }

  GwasData data() const {
    GwasData data;
    data.bfile = folder_.path("t");
    data.traits.path = folder_.path("p.tsv");
    return data;
  }
  const BedContent& content() const { return content_; }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  BedContent content_;
};

}  // namespace kinflow
