// What a study needs.
#include "kinflow/gwas/preflight.h"

#include <gtest/gtest.h>

#include "study_files.h"
#include "told.h"

namespace kinflow {
namespace {

GwasRequest request_of(const StudyFiles& files) {
  GwasRequest request;
  request.data = files.data();
  return request;
}

TEST(Preflight, MoreWorkNeedsMore) {
  const StudyFiles files;
  auto request = request_of(files);
  const GwasInputs inputs(request.data);
  const auto plain = estimate_needs(request, inputs);
  EXPECT_GT(plain.bytes, 8.0 * 57 * 57);
  EXPECT_GT(plain.seconds, 0);
  request.data.leave_chromosome_out = true;
  const GwasInputs by_chromosomes(request.data);
  EXPECT_GT(estimate_needs(request, by_chromosomes).bytes, plain.bytes);
  request.threads = 8;
  EXPECT_GT(estimate_needs(request, inputs).bytes, plain.bytes);
}

TEST(Preflight, TellsCountsAndWarns) {
  const StudyFiles files;
  const auto request = request_of(files);
  const GwasInputs inputs(request.data);
  Told told;
  const auto tables = [](const GwasInputs& of, const TraitCorrelations& together) {
    return std::vector<std::string>{std::to_string(of.people_steps().size()) + " steps",
                                    std::to_string(together.matrix.size()) + " cells"};
  };
  report_before(request, inputs, tables, told);
  for (const std::string& text :
       {std::to_string(inputs.people_steps().size()) + " steps\n4 cells\n",
        std::string("57 people, 2 traits"), std::string("300 variants to test"),
        std::string("needs about"), std::string("! 57 people for 2 traits")}) {
    EXPECT_NE(told.text.find(text), told.text.npos) << text << "\n" << told.text;
  }
}

TEST(Preflight, RefusesWhatDoesNotFitWithoutAWord) {
  const StudyFiles files;
  auto request = request_of(files);
  const GwasInputs inputs(request.data);
  // Blocks of genotypes for a million million threads.
  request.threads = 1'000'000'000'000;
  Told told;
  const auto message =
      input_error_of([&] { report_before(request, inputs, {}, told); });
  EXPECT_NE(message.find("of memory for the relationship of 57 people"), message.npos)
      << message;
  EXPECT_EQ(told.text, "");
}

TEST(Preflight, NamesTwins) {
  RelationshipFile file{.source = "k.txt",
                        .ids = {{"F", "a"}, {"F", "b"}, {"G", "c"}},
                        .rows = 3,
                        .dense = {1, 0.99, 0, 0.99, 1, 0, 0, 0, 1},
                        .sparse = {}};
  Told told;
  report_relationship(file, told);
  EXPECT_NE(told.text.find("mean diagonal 1.0000"), told.text.npos) << told.text;
  EXPECT_NE(told.text.find("! 1 pair of people"), told.text.npos) << told.text;
  EXPECT_NE(told.text.find("'F a' and 'F b'"), told.text.npos) << told.text;
}

}  // namespace
}  // namespace kinflow
