// The programs that stand beside each other and make up the command line.
#pragma once

namespace kinflow::cli {

/// Replaces this process by the program of that name in the same folder. Returns, with
/// an exit code, only where that fails.
int become(const char* program, char** arguments);

}  // namespace kinflow::cli
