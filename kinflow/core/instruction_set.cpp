// What the machine has, and what the user asks for.
#include "kinflow/core/instruction_set.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

InstructionSet best_of_machine() {
#ifdef KINFLOW_X86_KERNELS
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
    return InstructionSet::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return InstructionSet::avx2;
  }
#endif
  return InstructionSet::portable;
}

InstructionSet asked_for() {
  const char* name = std::getenv("KINFLOW_KERNELS");
  if (name == nullptr || *name == 0) return InstructionSet::avx512;
  if (std::strcmp(name, "portable") == 0) return InstructionSet::portable;
  if (std::strcmp(name, "avx2") == 0) return InstructionSet::avx2;
  if (std::strcmp(name, "avx512") == 0) return InstructionSet::avx512;
  throw InputError(
      "KINFLOW_KERNELS: expected portable, avx2 or avx512 in this environment "
      "variable, found '" +
      std::string(name) + "'");
}

}  // namespace

InstructionSet available(InstructionSet wanted) {
  if (wanted == InstructionSet::best) wanted = asked_for();
  return std::min(wanted, best_of_machine());
}

void check_kernels_choice() { asked_for(); }

}  // namespace kinflow
