// Who and what takes part in a study.
#include "kinflow/gwas/gwas_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kinflow/data/write_relationship.h"
#include "study_files.h"

namespace kinflow {
namespace {

class Inputs : public testing::Test {
 protected:
  std::string chromosome_of(const GwasInputs& inputs, std::int64_t variant) const {
    return inputs.genotypes().variants()[static_cast<std::size_t>(variant)].chromosome;
  }
  StudyFiles files_;
  GwasData data_ = files_.data();
};

TEST_F(Inputs, CountEveryStep) {
  files_.folder().write("keep.txt", "F0 I0\nF1 I5\n");
  data_.people.remove = files_.folder().path("keep.txt");
  data_.variants.least_minor_frequency = 0.05;
  const GwasInputs inputs(data_);
  ASSERT_EQ(inputs.people_steps().size(), 3U);
  EXPECT_EQ(inputs.people_steps()[0].filter, "--remove");
  EXPECT_EQ(inputs.people_steps()[0].left, 58);
  EXPECT_EQ(inputs.people_steps()[1].filter, "in the phenotype table");
  EXPECT_EQ(inputs.people_steps()[2].removed, 2);
  EXPECT_EQ(inputs.count(), 56);
  EXPECT_EQ(inputs.candidates().rows.size(), 58U);
  ASSERT_EQ(inputs.variants().steps.size(), 1U);
  EXPECT_EQ(inputs.variants().steps[0].left, inputs.tested());
  EXPECT_LT(inputs.tested(), 300);
  EXPECT_EQ(inputs.ids().front(), (SampleId{"F0", "I3"}));
}

TEST_F(Inputs, TheRelationshipDoesNotShrinkWithWhatIsTested) {
  const auto all = GwasInputs(data_).relationship_variants();
  data_.variants.chromosomes = {"2"};
  files_.folder().write("some.txt", "rs120 rs121\n");
  data_.variants.extract = files_.folder().path("some.txt");
  const GwasInputs some(data_);
  EXPECT_EQ(some.tested(), 2);
  EXPECT_EQ(some.relationship_variants(), all);
  for (const auto variant : all) EXPECT_NE(chromosome_of(some, variant), "X");
  EXPECT_EQ(all.size(), 200U);
}

TEST_F(Inputs, ExcludedAndRareVariantsAreNotInTheRelationship) {
  data_.variants.least_minor_frequency = 0.1;
  const GwasInputs inputs(data_);
  EXPECT_LT(inputs.relationship_variants().size(), 200U);
  EXPECT_GT(inputs.tested(),
            static_cast<std::int64_t>(inputs.relationship_variants().size()));
}

TEST_F(Inputs, GroupsAreChromosomes) {
  data_.leave_chromosome_out = true;
  GwasInputs inputs(data_);
  ASSERT_EQ(inputs.groups().size(), 3U);
  EXPECT_EQ(inputs.groups()[1].name, "chr2");
  std::vector<std::vector<double>> matrices;
  inputs.visit_groups([](const VariantGroup&) { return true; },
                      [&](const VariantGroup&, std::vector<double> matrix) {
                        matrices.push_back(std::move(matrix));
                      });
  ASSERT_EQ(matrices.size(), 3U);
  data_.leave_chromosome_out = false;
  GwasInputs together(data_);
  const auto all = together.relationship().dense;
  EXPECT_NE(matrices[0], matrices[1]);
  EXPECT_NE(matrices[0], all);
  // X is not part of the relationship, so nothing is taken away for it.
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_NEAR(matrices[2][i], all[i], 1e-9);
}

TEST_F(Inputs, ScaffoldsAreChromosomesOfTheirOwnWhereTheUserSaysSo) {
  auto content = files_.content();
  for (std::size_t i = 0; i < content.variants.size(); ++i) {
    content.variants[i].chromosome = i < 150 ? "scaffold_1" : "scaffold_2";
  }
  write_bed(files_.folder(), "t", content);
  data_.leave_chromosome_out = true;
  const auto message = input_error_of([&] { GwasInputs inputs(data_); });
  EXPECT_NE(message.find("--allow-extra-chr"), message.npos) << message;
  data_.variants.allow_extra_chr = true;
  GwasInputs inputs(data_);
  std::vector<std::vector<double>> matrices;
  inputs.visit_groups([](const VariantGroup&) { return true; },
                      [&](const VariantGroup&, std::vector<double> matrix) {
                        matrices.push_back(std::move(matrix));
                      });
  ASSERT_EQ(matrices.size(), 2U);
  EXPECT_NE(matrices[0], matrices[1]);
}

TEST_F(Inputs, PeopleWhoAreNotInTheRelationshipAreLeftOut) {
  GwasInputs all(data_);
  auto matrix = all.relationship();
  std::vector<std::int64_t> rows(50);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = 49 - static_cast<int>(i);
  auto part = select_rows(matrix, rows);
  part.ids.clear();
  for (const auto row : rows) {
    part.ids.push_back(matrix.ids[static_cast<std::size_t>(row)]);
  }
  write_relationship(files_.folder().path("k.grm.bin"), part);
  data_.relationship = files_.folder().path("k");
  GwasInputs some(data_);
  EXPECT_EQ(some.count(), 50);
  EXPECT_EQ(some.people_steps().front().filter, "in the relationship");
  // In the order of the .fam again.
  const auto& given = some.relationship();
  EXPECT_EQ(given.ids.front(), matrix.ids.front());
  EXPECT_NEAR(value_at(given, 3, 7), value_at(matrix, 3, 7), 1e-6);
  const auto names = some.files();
  EXPECT_NE(std::find(names.begin(), names.end(), files_.folder().path("k.grm.bin")),
            names.end());
}

TEST_F(Inputs, TellOfTheTables) {
  EXPECT_TRUE(GwasInputs(data_).notes().empty());
  auto table = content_of(data_.traits.path);
  files_.folder().write("p.tsv", table + "F99\tnobody\t1\t2\n");
  const auto notes = GwasInputs(data_).notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("not in the .fam: 1 of 61"), notes[0].npos) << notes[0];
}

}  // namespace
}  // namespace kinflow
