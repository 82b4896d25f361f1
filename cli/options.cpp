// Options that several verbs have.
#include "options.h"

#include <CLI/CLI.hpp>
#include <thread>

namespace kinflow::cli {

CLI::Option* add_threads(CLI::App& verb, std::int64_t& threads) {
  threads = std::max(1U, std::thread::hardware_concurrency());
  return verb.add_option("--threads", threads, "Threads of all arithmetic")
      ->check(CLI::Range(1, 4096));
}

}  // namespace kinflow::cli
