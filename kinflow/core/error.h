// The two kinds of failure: the caller's mistake and arithmetic that broke down.
#pragma once

#include <stdexcept>
#include <string>

namespace kinflow {

/// The caller's mistake: a file, an option or a value. The message is one line that
/// says where, what was expected and what came; what cannot be printed in it, as bytes
/// of somebody's file, stands there as `\x1f`. The command line exits with 2.
class InputError : public std::runtime_error {
 public:
  explicit InputError(const std::string& message);
};

/// A computation that cannot go on: a factorisation that fails, training that diverges.
/// The command line exits with 1.
class NumericalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The user asked to stop, and what was done so far is safe. The command line exits
/// with 130.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The message of a failed system call: "PATH: cannot WHAT (reason from errno)".
std::string system_message(const std::string& path, const std::string& what);

}  // namespace kinflow
