// Images, and fits of them by the real binary, that the tests of images share.
#pragma once

#include <algorithm>
#include <string>

#include "run_binary.h"
#include "tests/engine/images/small_images.h"

namespace kinflow::cli {

/// Options of a fit that takes a fraction of a second.
inline Arguments small(const Arguments& more) {
  Arguments options = {"--images", "--flow",           "glow", "--steps",
                       "2",        "--dense-channels", "8",    "--dense-layers",
                       "1",        "--dense-growth",   "8",    "--threads",
                       "1",        "--learning-rate",  "0.005"};
  if (std::find(more.begin(), more.end(), "--batch-size") == more.end()) {
    options = options + Arguments{"--batch-size", "16"};
  }
  return options + more;
}

/// Images, a fit of them and one of a table that many tests read and none changes.
class Faces {
  const TemporaryFolder folder_;

 public:
  static const Faces& get() {
    static const Faces faces;
    return faces;
  }
  const std::string images, run, table, table_run;

 private:
  Faces()
      : images(write_small_images(folder_)),
        run(folder_.path("run")),
        table(folder_.path("table")),
        table_run(folder_.path("table_run")) {
    run_well(Arguments{"fit", images + "/train", "--group-by-folder", "--valid",
                       images + "/valid", "--out", run} +
             small({"--epochs", "3"}));
    run_well({"simulate", "--shape", "abs", "--dependence", "blocks", "--rows", "100",
              "--valid-rows", "50", "--test-rows", "50", "--out", table});
    run_well(
        Arguments{"fit", table + "/train.csv", "--group", "group", "--out", table_run} +
        small_fit());
  }
};

inline Arguments fit_of(const std::string& out, const Arguments& more = {}) {
  return Arguments{"fit", Faces::get().images + "/train", "--group-by-folder", "--out",
                   out} +
         small(more);
}

}  // namespace kinflow::cli
