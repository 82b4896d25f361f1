// A whole association study: from genotype files and tables of traits to loci.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "kinflow/gwas/gwas_inputs.h"
#include "kinflow/gwas/gwas_request.h"
#include "kinflow/gwas/run_log.h"

namespace kinflow {

/// What one way to test came to.
struct GwasMethod {
  std::string name;                 ///< "flow", "rank-normal", "traits" or "single"
  std::vector<std::string> traits;  ///< that were tested
  std::int64_t tested = 0;          ///< variants with a p-value
  double smallest_p = 1;
  double inflation = 1;
  std::vector<Locus> loci = {};
  std::string table = {};  ///< file of the tests
};

struct GwasResult {
  std::vector<GwasMethod> methods;
  std::vector<std::string> files;  ///< all that were written
};

/// All files and folders that a run of this request may write, PREFIX.partial included.
std::vector<std::string> gwas_files(const GwasRequest& request);

/// Runs a study and writes, with the prefix of the request: .assoc.tsv (or
/// .assoc.tsv.gz), .loci.tsv, .manhattan.png and .qq.png; with `single` the same
/// of PREFIX.single; .id, the people who were analysed; .null.tsv, the null models; of
/// a flow .traits.tsv, .pheno (its latents) and the run folder PREFIX.model; and
/// PREFIX.flow.grm .bin, .id and .N.bin of a relationship that was computed or freed of
/// negative eigenvalues for it.
///
/// All input is read and checked before anything is told or written. Where an
/// InputError comes later, as that of a full disk, new files remain only if a flow is
/// trained or variants are tested. The same call goes on with a run that was killed.
/// Tests do not depend on the number of threads; the latents of a flow, as any fit, by
/// the rounding of its last digits.
/// @param stop  Interrupted is thrown soon after this becomes true; may be null
GwasResult run_gwas(const GwasRequest& request, const std::atomic<bool>* stop,
                    RunLog& log);

}  // namespace kinflow
