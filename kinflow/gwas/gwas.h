// A whole association study: from genotype files and tables of traits to loci.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kinflow/gwas/gwas_inputs.h"
#include "kinflow/gwas/gwas_request.h"
#include "kinflow/gwas/null_model_table.h"
#include "kinflow/gwas/preflight.h"
#include "kinflow/gwas/run_log.h"

namespace kinflow {

/// What one way to test came to.
struct GwasMethod {
  std::string name;                 ///< "flow", "rank-normal", "traits" or "single"
  std::vector<std::string> traits;  ///< that were tested
  std::int64_t tested = 0;          ///< variants with a p-value
  double largest_log10_p = 0;       ///< -log10 of the smallest p-value
  double inflation = 1;
  /// Under the null models; with a chromosome left out in turn their mean.
  std::vector<TraitHeritability> heritability = {};
  std::vector<Locus> loci = {};
  std::string table = {};  ///< file of the tests
};

struct GwasResult {
  std::vector<GwasMethod> methods;
  std::vector<std::string> files;  ///< all that were written
};

/// How a study is shown, by who knows pictures and tables. What is empty is not shown.
struct GwasViews {
  PreflightTables tables = {};
  /// Draws PREFIX.manhattan.png and PREFIX.qq.png.
  /// @param log10_p  -log10 p of each variant of the .bim, NaN: not tested
  std::function<void(const std::string& prefix, const GwasMethod& method,
                     const GwasInputs& inputs, const std::vector<double>& log10_p)>
      pictures = {};
};

/// Runs a study and writes, with the prefix of the request: .assoc.tsv (or
/// .assoc.tsv.gz), .loci.tsv, .manhattan.png and .qq.png; with `single` the same
/// of PREFIX.single; .id, the people who were analysed; .null.tsv, the null models; of
/// a flow .traits.tsv, .pheno (its latents) and the run folder PREFIX.model; and
/// PREFIX.flow.grm .bin, .id and .N.bin of a relationship that was computed or freed of
/// negative eigenvalues for it.
///
/// An earlier study with this prefix is refused, unless it is overwritten, which
/// removes all its files, or an unfinished one of the same request, which goes on. All
/// input is read and checked before anything is printed or written. An InputError or
/// NumericalError that comes later takes all new files with it; only where a disk fills
/// up after variants were tested they remain. The same call goes on then, and with a
/// run that was interrupted or killed.
/// Tests do not depend on the number of threads; the latents of a flow, as any fit, by
/// the rounding of its last digits.
/// @param stop  Interrupted is thrown soon after this becomes true; may be null
GwasResult run_gwas(const GwasRequest& request, const GwasViews& views,
                    const std::atomic<bool>* stop, RunLog& log);

}  // namespace kinflow
