// Runs the real binary for the tests of the command line.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kinflow/core/memory.h"
#include "tests/data/helpers.h"

namespace kinflow::cli {

using Arguments = std::vector<std::string>;

inline const Arguments kOverwrite = {"--overwrite"};

inline Arguments operator+(Arguments left, const Arguments& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

/// A process of the binary that has been started.
class Process {
 public:
  /// @param out  file or device that takes its standard output; its errors go to `err`
  Process(const Arguments& arguments, const std::string& out, const std::string& err) {
    std::vector<std::string> texts = Arguments{KINFLOW_BINARY} + arguments;
    std::vector<char*> pointers;
    for (auto& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    constexpr int kHow = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), kHow, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), kHow, 0600);
    if (posix_spawn(&id_, KINFLOW_BINARY, &actions, nullptr, pointers.data(),
                    environ) != 0) {
      id_ = -1;
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Process() { kill(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  bool is_running() {
    if (id_ > 0 && waitpid(id_, &status_, WNOHANG) == id_) id_ = -1;
    return id_ > 0;
  }

  /// Ends it at once, wherever it is.
  void kill() {
    if (!is_running()) return;
    ::kill(id_, SIGKILL);
    wait();
  }

  /// Asks it to stop, as Ctrl-C does.
  void interrupt() {
    if (is_running()) ::kill(id_, SIGINT);
  }

  /// The most memory that it has held so far; nothing once it has ended.
  std::optional<double> peak_memory_bytes() {
    if (!is_running()) return std::nullopt;
    return value_of_line(content_of("/proc/" + std::to_string(id_) + "/status"),
                         "VmHWM");
  }

  /// Its exit code; -1 where a signal ended it.
  int wait() {
    if (id_ > 0) waitpid(id_, &status_, 0);
    id_ = -1;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  }

 private:
  pid_t id_ = -1;
  int status_ = 0xff;  // of a process that was never started: no exit code
};

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

/// Runs the binary to its end. @param out  a device that takes its standard output
inline Outcome run(const Arguments& arguments, const std::string& out = "") {
  const TemporaryFolder streams;
  Process process(arguments, out.empty() ? streams.path("out") : out,
                  streams.path("err"));
  const int exit_code = process.wait();
  return {.exit_code = exit_code,
          .out = out.empty() ? content_of(streams.path("out")) : "",
          .err = content_of(streams.path("err"))};
}

inline std::string shown(const Arguments& arguments) {
  std::string text = "kinflow";
  for (const auto& argument : arguments) text += " " + argument;
  return text;
}

/// Runs the binary, which must succeed, and returns its standard output.
inline std::string run_well(const Arguments& arguments) {
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << shown(arguments) << "\n" << outcome.err;
  return outcome.out;
}

/// What a study writes of the report that it prints.
inline std::string as_section(const std::string& name, const std::string& report) {
  return "<!-- begin " + name + " -->\n" + report + "<!-- end " + name + " -->\n";
}

/// Every file below a folder with its content; folders have none.
inline std::map<std::string, std::string> content_below(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    files[entry.path().string()] =
        entry.is_regular_file() ? content_of(entry.path().string()) : "";
  }
  return files;
}

/// One line that starts with "kinflow: " and holds all of `mentioned`.
inline void expect_one_error_line(const Outcome& outcome, const Arguments& mentioned) {
  EXPECT_EQ(outcome.err.rfind("kinflow: ", 0), 0u) << outcome.err;
  EXPECT_EQ(outcome.err.find('\n') + 1, outcome.err.size()) << outcome.err;
  EXPECT_EQ(outcome.err.find("internal error"), std::string::npos) << outcome.err;
  for (const auto& text : mentioned) {
    EXPECT_NE(outcome.err.find(text), std::string::npos)
        << "expected '" << text << "' in: " << outcome.err;
  }
}

/// Runs the binary, which must refuse: exit code 2, one line of error, no output, and
/// nothing changed below `folder`.
inline void expect_refusal(const TemporaryFolder& folder, const Arguments& arguments,
                           const Arguments& mentioned) {
  SCOPED_TRACE(shown(arguments));
  const auto before = content_below(folder.path());
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.exit_code, 2);
  expect_one_error_line(outcome, mentioned);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(content_below(folder.path()) == before) << "files have changed";
}

/// Options of a fit that takes a fraction of a second, of one flow and with one part
/// held out unless `more` says otherwise.
inline Arguments small_fit(const Arguments& more = {},
                           const std::string& epochs = "3") {
  Arguments options = {"--hidden",     "8",  "--epochs",  epochs,
                       "--batch-size", "64", "--threads", "1"};
  // Of splines alone.
  if (std::find(more.begin(), more.end(), "affine") == more.end()) {
    options = options + Arguments{"--bins", "4"};
  }
  if (std::find(more.begin(), more.end(), "--replicas") == more.end()) {
    options = options + Arguments{"--replicas", "1"};
  }
  if (std::find(more.begin(), more.end(), "--folds") == more.end()) {
    options = options + Arguments{"--folds", "1"};
  }
  return options + more;
}

/// Simulated tables and fitted runs that many tests read and none changes.
class SharedFiles {
  const TemporaryFolder folder_;

 public:
  static const SharedFiles& get() {
    static const SharedFiles files;
    return files;
  }

  const std::string blocks, relatives;          ///< folders of kinflow simulate
  const std::string blocks_run, relatives_run;  ///< folders of kinflow fit
  const std::string plain_run;                  ///< on `blocks`, without a calibration
  const std::string ensemble_run;               ///< of three members, on `blocks`
  static constexpr int kRows = 200, kRelatives = 60;

  /// How the rows of `relatives` depend.
  Arguments by_matrix() const {
    return {"--relationship", relatives + "/relationship.npy", "--id", "id"};
  }

 private:
  SharedFiles()
      : blocks(folder_.path("blocks")),
        relatives(folder_.path("relatives")),
        blocks_run(folder_.path("blocks_run")),
        relatives_run(folder_.path("relatives_run")),
        plain_run(folder_.path("plain_run")),
        ensemble_run(folder_.path("ensemble_run")) {
    const Arguments other_rows = {"--valid-rows", "80", "--test-rows", "90"};
    run_well(Arguments{"simulate", "--shape", "abs", "--dependence", "blocks", "--rows",
                       std::to_string(kRows), "--seed", "6", "--out", blocks} +
             other_rows);
    run_well(Arguments{"simulate", "--shape", "crescent", "--dependence",
                       "relationship", "--rows", std::to_string(kRelatives), "--seed",
                       "5", "--lambda", "0.25", "--out", relatives} +
             other_rows);
    run_well(Arguments{"fit", blocks + "/train.csv", "--group", "group", "--valid",
                       blocks + "/valid.csv", "--correlation", "per-block", "--out",
                       blocks_run} +
             small_fit());
    run_well(Arguments{"fit", blocks + "/train.csv", "--group", "group", "--valid",
                       blocks + "/valid.csv", "--correlation", "per-block",
                       "--no-calibrate", "--out", plain_run} +
             small_fit());
    run_well(Arguments{"fit", relatives + "/train.csv", "--valid",
                       relatives + "/valid.csv", "--out", relatives_run} +
             by_matrix() + small_fit());
    run_well(Arguments{"fit", blocks + "/train.csv", "--group", "group", "--valid",
                       blocks + "/valid.csv", "--schedule", "grid", "--grid",
                       "0.2,0.4,0.6,0.8", "--ensemble", "3", "--out", ensemble_run} +
             small_fit());
  }
};

}  // namespace kinflow::cli
