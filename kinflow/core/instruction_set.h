// The instruction sets that CPU kernels are compiled for (cmake/Kernels.cmake).
#pragma once

namespace kinflow {

/// What kernels were compiled for. `best` is the most that this machine has; the
/// environment variable KINFLOW_KERNELS (portable, avx2, avx512) can ask for less.
enum class InstructionSet { portable, avx2, avx512, best };

/// The set to use where `wanted` is asked for: not more than the machine has.
InstructionSet available(InstructionSet wanted);

/// InputError where KINFLOW_KERNELS names no instruction set.
void check_kernels_choice();

}  // namespace kinflow
