// A logger that keeps what it is told.
#pragma once

#include <string>

#include "kinflow/core/log.h"

namespace kinflow {

class Told final : public Logger {
 public:
  void info(const std::string& message) override { text += message + "\n"; }
  void warning(const std::string& message) override { text += "! " + message + "\n"; }
  std::string text;
};

}  // namespace kinflow
