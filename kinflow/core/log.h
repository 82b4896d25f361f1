// How the library speaks: it is handed a Logger and never prints by itself.
#pragma once

#include <cstdint>
#include <string>

namespace kinflow {

/// State of a long job, reported often; the receiver decides what to show.
struct Progress {
  std::string job;             ///< what is being done, e.g. "fit"
  std::int64_t done = 0;       ///< finished units
  std::int64_t total = 0;      ///< units in all
  std::string unit = "epoch";  ///< name of a unit
  std::string status;          ///< e.g. "valid NLL 1.402 (best 1.398)"
  double seconds_left = -1;    ///< estimate; negative where unknown
  /// The same where the job may end early, if it does; negative where it cannot.
  double least_seconds_left = -1;
};

/// Receives messages and progress, also from several threads at once. The base class
/// drops everything.
class Logger {
 public:
  virtual ~Logger();
  virtual void info(const std::string& message);
  virtual void warning(const std::string& message);
  virtual void progress(const Progress& progress);
};

/// "1.3383", or "not finite".
std::string format_nats(double nats);

/// "1:05" or "2:03:10" for a number of seconds.
std::string format_duration(double seconds);

/// "1:05 left", for a job that may end early "at most 1:05 left" or "0:10 to at most
/// 1:05 left"; empty where nothing is known.
std::string time_left_text(const Progress& progress);

/// "40 s", "3 min" or "2.5 h" for an estimate of seconds.
std::string format_rough_duration(double seconds);

}  // namespace kinflow
