// Parses the verbs and turns failures into exit codes.
#include "run_verbs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "commands.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/version.h"
#include "kinflow/data/suggest.h"
#include "usage_errors.h"

namespace {

constexpr int kNumericalFailure = 1;
constexpr int kBadInput = 2;
constexpr int kInterrupted = 130;

std::atomic<bool> stop{false};
// Set before the handler is.
std::string stop_line;

extern "C" void request_stop(int signal) {
  const int error_before = errno;
  stop = true;
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, stop_line.data(), stop_line.size());
  std::signal(signal, SIG_DFL);
  errno = error_before;
}

constexpr const char* kOutOfMemory = "out of memory: expected a smaller model or table";

// Libraries on a GPU have no type of their own for this.
bool is_out_of_memory(const std::string& message) {
  return message.find("allocate memory") != std::string::npos ||
         message.find("not enough memory") != std::string::npos ||
         message.find("out of memory") != std::string::npos;
}

int fail(kinflow::cli::Console& console, const std::string& message, int code) {
  // One line, whatever a library put into its message.
  console.info("kinflow: " + message.substr(0, message.find('\n')));
  return code;
}

// InputError that lists the verbs where the first word is none of them.
void check_verb(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const auto* verb : app.get_subcommands({})) {
    if (verb->get_name() == word) return;
    names.push_back(verb->get_name());
  }
  throw kinflow::InputError(
      fmt::format("expected a verb ({}), found {}{}", fmt::join(names, ", "),
                  kinflow::in_quotes(word), kinflow::did_you_mean(word, names)));
}

}  // namespace

const std::atomic<bool>& kinflow::cli::stop_requested(const std::string& says) {
  // On a terminal a bar may stand on the line.
  if (!says.empty())
    stop_line = (::isatty(STDERR_FILENO) == 1 ? "\n" : "") + says + "\n";
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  return stop;
}

void kinflow::cli::keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLargestKept = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kLargestKept);
  mallopt(M_TRIM_THRESHOLD, kLargestKept);
#endif
}

int kinflow::cli::run_verbs(int argc, char** argv, const AddVerbs& add_verbs) {
  Console console;
  CLI::App app{"Normalizing flows for data whose rows are not independent."};
  app.name("kinflow");
  app.set_version_flag("--version", "kinflow " + version() + " (" + commit() + ")");
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default();
  add_verbs(app, console);
  try {
    if (argc == 1) throw CLI::CallForHelp();
    if (argv[1][0] != '-') check_verb(app, argv[1]);
    check_values(app, std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0) throw InputError(system_message("stdout", "write"));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return fail(console, usage_message(app, error) + " (see --help)", kBadInput);
  } catch (const InputError& error) {
    return fail(console, error.what(), kBadInput);
  } catch (const Interrupted& error) {
    console.info(error.what());
    return kInterrupted;
  } catch (const NumericalError& error) {
    return fail(console, error.what(), kNumericalFailure);
  } catch (const std::bad_alloc&) {
    return fail(console, kOutOfMemory, kNumericalFailure);
  } catch (const std::system_error& error) {
    return fail(console, error.what(), kBadInput);
  } catch (const std::exception& error) {
    if (is_out_of_memory(error.what()))
      return fail(console, kOutOfMemory, kNumericalFailure);
    return fail(console, std::string("internal error: ") + error.what(),
                kNumericalFailure);
  }
  return 0;
}
