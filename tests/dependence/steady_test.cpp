// Results whose bits depend neither on the number of threads nor on other replicas.
#include "kinflow/array/device.h"
#include "problems.h"

namespace kinflow {
namespace {

// More blocks than a loop over them gives to one thread.
constexpr std::int64_t kBlocks = 40000;

class Steady : public testing::Test {
 protected:
  ~Steady() override { set_threads(1); }

  Random random_{3};
  Blocks law_{nd::arange(2 * kBlocks).floor_divide(2)};
  Array parameters_ = oracle::uniform({3, kBlocks}, 0.01, 0.99, random_);
  Array latents_ = oracle::normal({3, 2 * kBlocks, 1}, random_);
};

TEST_F(Steady, ThreadsDoNotChangeAnyBitOfLargeBlocks) {
  for (std::int64_t r = 0; r < 3; ++r) {
    const auto parameters = parameters_.narrow(0, r, 1);
    const auto latents = latents_.narrow(0, r, 1);
    set_threads(1);
    const auto log_det = law_.log_det(parameters);
    const auto quadratic = law_.quadratic(parameters, latents);
    const auto logits = law_.to_unconstrained(parameters);
    const auto shares = law_.from_unconstrained(latents.select(2, 0));
    for (const std::int64_t threads : {2, 3}) {
      set_threads(threads);
      EXPECT_TRUE(nd::equal(log_det, law_.log_det(parameters))) << r;
      EXPECT_TRUE(nd::equal(quadratic, law_.quadratic(parameters, latents))) << r;
      EXPECT_TRUE(nd::equal(logits, law_.to_unconstrained(parameters))) << r;
      EXPECT_TRUE(nd::equal(shares, law_.from_unconstrained(latents.select(2, 0))));
    }
  }
}

// Loops take several numbers at a time: a number's place in them must not matter.
TEST_F(Steady, OtherReplicasDoNotChangeAnyBitOfBlocks) {
  for (std::int64_t count = 1; count < 40; ++count) {
    const Blocks law(nd::arange(2 * count).floor_divide(2));
    const auto parameters = parameters_.narrow(1, 0, count).contiguous();
    const auto latents = latents_.narrow(1, 0, 2 * count).contiguous();
    const auto logits = latents.select(2, 0).contiguous();
    for (std::int64_t r = 0; r < 3; ++r) {
      const auto own = parameters.narrow(0, r, 1), rows = latents.narrow(0, r, 1);
      const auto expect_same = [&](const Array& of_all, const Array& alone) {
        EXPECT_TRUE(nd::equal(of_all.narrow(0, r, 1), alone)) << count << " blocks";
      };
      expect_same(law.log_det(parameters), law.log_det(own));
      expect_same(law.quadratic(parameters, latents), law.quadratic(own, rows));
      expect_same(law.to_unconstrained(parameters), law.to_unconstrained(own));
      expect_same(law.from_unconstrained(logits),
                  law.from_unconstrained(logits.narrow(0, r, 1)));
    }
  }
}

}  // namespace
}  // namespace kinflow
