// Tables that are longer than a piece, through the real binary.
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "kinflow/data/table.h"
#include "run_binary.h"

namespace kinflow::cli {
namespace {

/// Rows of x1, x2 and a label.
std::string long_table(int rows) {
  std::string text = "x1,x2,label\n";
  for (int i = 0; i < rows; ++i) {
    text += std::to_string(std::sin(i)) + "," + std::to_string(std::cos(1.5 * i)) +
            ",row " + std::to_string(i) + " of a table whose labels are long\n";
  }
  return text;
}

Arguments transform(const std::string& table, const std::string& out) {
  return {"transform", SharedFiles::get().blocks_run, table, "--out", out};
}

TEST(LongTable, NumbersOfThreadsDoNotChangeAnOutput) {
  const TemporaryFolder folder;
  const std::string table = folder.write("t.csv", long_table(40'000));
  const std::string run_folder = SharedFiles::get().blocks_run;
  const std::vector<Arguments> calls = {
      transform(table, "") + Arguments{"--keep", "label"},
      {"evaluate", run_folder, table, "--keep", "label", "--out", ""},
      {"sample", run_folder, "--rows", "40000", "--out", ""}};
  for (const auto& call : calls) {
    std::vector<std::string> contents;
    for (const std::string threads : {"1", "2", "3"}) {
      const std::string out = folder.path("out.csv");
      auto arguments = call;
      *std::find(arguments.begin(), arguments.end(), "") = out;
      const std::string printed =
          run_well(arguments + Arguments{"--threads", threads} + kOverwrite);
      contents.push_back(printed + content_of(out));
    }
    EXPECT_EQ(read_table(folder.path("out.csv")).rows(), 40'000);
    EXPECT_TRUE(contents[0] == contents[1] && contents[1] == contents[2])
        << shown(call);
  }
}

TEST(LongTable, AMistakeInTheThirdPieceIsNamedAndLeavesNoOutput) {
  const TemporaryFolder folder;
  const std::string table =
      folder.write("t.csv", long_table(40'000) + "1,x,y\n" + long_table(20'000));
  expect_refusal(folder, transform(table, folder.path("u.csv")),
                 {table + ":40002: column 'x2': expected a number, found 'x'"});
  expect_refusal(
      folder,
      {"evaluate", SharedFiles::get().blocks_run, table, "--out", folder.path("e.npy")},
      {table + ":40002: column 'x2': expected a number, found 'x'"});
}

TEST(LongTable, AnInterruptLeavesNothing) {
  const TemporaryFolder folder, streams;
  const std::string pipe = folder.path("pipe.csv");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  Process process(transform(pipe, folder.path("u.csv")), streams.path("out"),
                  streams.path("err"));
  {
    std::ofstream table(pipe);
    table << long_table(40'000) << std::flush;
    // The output is begun by now, and the table has not ended.
    EXPECT_EQ(folder.files().size(), 2u);
    process.interrupt();
    table << "0,0,last\n";
  }
  EXPECT_EQ(process.wait(), 130);
  EXPECT_EQ(folder.files(), (Arguments{"pipe.csv"}));
  EXPECT_EQ(content_of(streams.path("err")),
            "transform: interrupted, nothing was written\n");
}

/// Peak memory of a run that must succeed, in bytes.
double peak_memory_of(const Arguments& arguments) {
  const TemporaryFolder streams;
  Process process(arguments, streams.path("out"), streams.path("err"));
  double peak = 0;
  while (const auto bytes = process.peak_memory_bytes()) {
    peak = std::max(peak, *bytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(process.wait(), 0) << shown(arguments);
  EXPECT_GT(peak, 1e7);
  return peak;
}

TEST(LongTable, MemoryDoesNotGrowWithTheFile) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer keeps memory that was given back";
#endif
  const TemporaryFolder folder;
  const std::string run_folder = SharedFiles::get().blocks_run;
  constexpr int kFew = 50'000, kMany = 10 * kFew;
  const std::string few = folder.write("few.csv", long_table(kFew));
  const std::string many = folder.write("many.csv", long_table(kMany));
  const auto table = [&](int rows) { return rows == kFew ? few : many; };
  const auto file_bytes = static_cast<double>(std::filesystem::file_size(many));
  const auto growth = [&](const auto& call_for) {
    return peak_memory_of(call_for(kMany)) -
           peak_memory_of(call_for(kFew) + kOverwrite);
  };
  EXPECT_LT(growth([&](int rows) {
              return transform(table(rows), folder.path("u.csv")) +
                     Arguments{"--keep", "label"};
            }),
            file_bytes / 3);
  EXPECT_LT(growth([&](int rows) {
              return Arguments{"evaluate",           run_folder, table(rows), "--out",
                               folder.path("e.csv"), "--keep",   "label"};
            }),
            file_bytes / 3);
  EXPECT_LT(growth([&](int rows) {
              return Arguments{"sample", run_folder,
                               "--rows", std::to_string(4 * rows),
                               "--out",  folder.path("s.csv")};
            }),
            file_bytes / 3);
}

}  // namespace
}  // namespace kinflow::cli
