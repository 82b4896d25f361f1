// A data race of a team, which the thread sanitizer has to report: runs without reports
// mean something only where it reports this one.
#include <atomic>

#include "kinflow/core/workers.h"

int main() {
  kinflow::Workers workers(2);
  std::atomic<int> begun = 0;
  long sum = 0;
  workers.run(2, [&](std::int64_t turn, std::int64_t /*thread*/) {
    // Both threads have a turn; waiting for that puts neither before the other.
    begun.fetch_add(1, std::memory_order_relaxed);
    while (begun.load(std::memory_order_relaxed) < 2) {
    }
    sum += turn;
  });
  return sum == 0;
}
